package http

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// fleet is a set of users who send one request after the other, each with its own client, with
// a pause in between.
type fleet struct {
	rec     *executortest.Recorder
	url     string
	headers map[string]string

	pace   sync.RWMutex // read-locked during each call, and locked between phases
	calls  atomic.Int64
	failed atomic.Int64
	end    chan struct{}
	users  sync.WaitGroup
}

const fleetUsers = 8

func newFleet(t *testing.T, url string, opts Options, headers map[string]string) *fleet {
	t.Helper()
	ctx, rec := executortest.Context(t)
	f := &fleet{rec: rec, url: url, headers: headers, end: make(chan struct{})}
	opts.MaxConns = 1
	f.pace.Lock()
	for range fleetUsers {
		c, err := NewHttpClient(ctx, "home", opts)
		if err != nil {
			t.Fatal(err)
		}
		f.users.Go(func() {
			for {
				select {
				case <-f.end:
					return
				default:
					f.call(ctx, c)
				}
			}
		})
	}
	return f
}

// call sends a request that is never repeated, so that each counts once.
func (f *fleet) call(ctx context.Context, c HttpClient) {
	f.pace.RLock()
	defer f.pace.RUnlock()
	select {
	case <-f.end:
		return
	default:
	}
	f.calls.Add(1)
	if _, err := c.Post(ctx, f.url, []byte("x"), f.headers); err != nil {
		f.failed.Add(1)
	}
	pause(ctx, fleetPause())
}

// fleetPause is short enough for many calls in a phase, and long enough for the fleets of all
// faults to work at the same time; make test-long runs them one by one, at full speed.
func fleetPause() time.Duration {
	if long.Run {
		return 0
	}
	return 20 * time.Millisecond
}

// atOnce makes t parallel where fleets pause.
func atOnce(t *testing.T) {
	if !long.Run {
		t.Parallel()
	}
}

// phase calls change, lets the users work for d, and returns how many calls they made and how
// many failed. Between phases the users are idle.
func (f *fleet) phase(change func(), d time.Duration) (calls, failed int64) {
	change()
	calls, failed = f.calls.Load(), f.failed.Load()
	f.pace.Unlock()
	time.Sleep(d)
	f.pace.Lock()
	return f.calls.Load() - calls, f.failed.Load() - failed
}

// stop ends the users. idle means that they are idle, as after a phase.
func (f *fleet) stop(idle bool) {
	close(f.end)
	if idle {
		f.pace.Unlock()
	}
	f.users.Wait()
}

// Each fault is counted exactly as often as it was injected, and only in its class. After it
// the rate recovers, and each user's recovery is measured (F24, F25, F26, F27).
func TestOutages(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t, `location /page { return 200 "0123456789012345678901234567890123456789"; }`)
	upstream := strings.TrimPrefix(ng.URL, "http://")
	fresh := map[string]string{"Connection": "close"} // a connect for each call
	short := Options{Timeout: 2 * time.Second}        // long enough for each call without a fault
	for _, tt := range []struct {
		name  string
		fault servers.Fault
		opts  Options
		class string // "": no failure
	}{
		{"F25 slow", servers.Delay, Options{}, ""},
		{"F25 never answers", servers.Hold, short, "timeout"},
		{"F26 reset before the answer", servers.Reset, Options{}, "reset"},
		{"F26 reset in the body", servers.ResetBody, Options{}, "reset"},
		{"F26 cut in the head", servers.CutHead, Options{}, "eof"},
		{"F26 cut in the body", servers.CutBody, Options{}, "eof"},
		{"F26 half-open", servers.HalfOpen, short, "timeout"},
		{"F26 drip", servers.Drip, short, "timeout"},
		{"F26 garbage", servers.Garbage, Options{}, "protocol"},
		{"F26 10 GB", servers.Huge, Options{}, "too_large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			atOnce(t)
			p := servers.Breaking(t, upstream)
			f := newFleet(t, p.URL+"/page", tt.opts, nil)
			suffer(t, upstream, f, tt.class, func() { p.Set(tt.fault) }, func() { p.Set(servers.NoFault) }, p.Injected)
			if p.Passed() != f.rec.Counts("home.")["http_ok"]-delayed(tt.fault, p) {
				t.Errorf("the proxy passed %d answers, the users had %v", p.Passed(), outcomes(f.rec))
			}
			if d := time.Duration(f.rec.Quantile("home.latency", 1)); tt.fault == servers.Delay && d < servers.FaultDelay {
				t.Errorf("the longest latency is %v, want %v and more", d, servers.FaultDelay)
			}
		})
	}
	t.Run("F24 down", func(t *testing.T) {
		atOnce(t)
		p := servers.Breaking(t, upstream)
		f := newFleet(t, p.URL+"/page", Options{}, fresh)
		suffer(t, upstream, f, "refused", p.Down, func() { p.Up(t) }, f.failed.Load)
	})
	for _, tt := range []struct {
		name string
		how  servers.NameFault
	}{{"F27 names fail", servers.NamesFail}, {"F27 names are silent", servers.NamesSilent}} {
		t.Run(tt.name, func(t *testing.T) {
			atOnce(t)
			ns := servers.Names(t, map[string][]string{"web.test": {"127.0.0.1"}})
			_, port, _ := net.SplitHostPort(upstream)
			f := newFleet(t, "http://web.test:"+port+"/page", Options{DNSServers: []string{ns.Addr}, ConnectTimeout: 2 * time.Second}, fresh)
			suffer(t, upstream, f, "dns", func() { ns.Break(tt.how) }, func() { ns.Break(servers.NamesWork) }, f.failed.Load)
		})
	}
}

// delayed returns how many of the successful answers were delayed by the fault.
func delayed(f servers.Fault, p *servers.FaultProxy) int64 {
	if f == servers.Delay {
		return p.Injected()
	}
	return 0
}

// suffer lets the users work before, during and after a fault, and checks all counts.
func suffer(t *testing.T, upstream string, f *fleet, class string, begin, end func(), injected func() int64) {
	t.Helper()
	const span = 400 * time.Millisecond
	beside := newFleet(t, servers.Breaking(t, upstream).URL+"/page", Options{}, f.headers) // not affected by the fault
	beside.pace.Unlock()
	f.phase(func() {}, span/4) // connect
	began := beside.calls.Load()
	before, failedBefore := f.phase(func() {}, span)
	beforeBeside := beside.calls.Load() - began
	during, failed := f.phase(begin, span)
	change, after, failedAfter, back := end, int64(0), int64(0), false
	for range 20 {
		began := beside.calls.Load()
		calls, more := f.phase(change, span)
		change, after, failedAfter = func() {}, calls, failedAfter+more
		// As fast as before, relative to the others: this machine may have become busier.
		if back = 2*after*beforeBeside >= before*(beside.calls.Load()-began); back {
			break
		}
	}
	beside.stop(false)
	f.stop(true)

	if failedBefore != 0 || failedAfter != 0 {
		t.Errorf("failures without a fault: %d before, %d after: %v", failedBefore, failedAfter, f.rec.Errors("home"))
	}
	got := outcomes(f.rec)
	want := counts{"http_ok": got["http_ok"], "latency": got["http_ok"]}
	outages := int64(0)
	if class != "" {
		outages = fleetUsers
		want["http_other_fail"], want["error."+class] = injected(), injected()
		if failed != during || injected() != failed || failed < fleetUsers {
			t.Errorf("%d calls met the fault, %d failed, %d were injected", during, failed, injected())
		}
	} else if failed != 0 || during != injected() {
		t.Errorf("%d calls, %d failed, %d were injected", during, failed, injected())
	}
	wantCounts(t, f.rec, want)
	if !back {
		t.Errorf("%d calls in %v before the fault, %d after it: the rate is not back", before, span, after)
	}
	if n := f.rec.Counts("home.")["recovery"]; n != outages {
		t.Errorf("%d recoveries, want %d: one for each user that saw an outage", n, outages)
	}
	longest := time.Duration(f.rec.Quantile("home.recovery", 1))
	if class != "" && (longest < span/2 || longest > span+30*time.Second) {
		t.Errorf("the longest recovery took %v", longest)
	}
	t.Logf("%6d calls before, %5d failed as %q, %6d after; longest recovery %v", before, failed, class, after, longest)
}

// A recovery is measured from the start of the first call that fails to the end of the first
// answer below 500 to a call that began after that failure.
func TestRecovery(t *testing.T) {
	t.Parallel()
	const down = 100 * time.Millisecond
	var status atomic.Value
	status.Store("200 OK")
	s := servers.Faults(t, func(p *servers.Peer) {
		for p.Request() != "" {
			what := status.Load().(string)
			if what == "" {
				p.Reset()
				return
			}
			p.Send("HTTP/1.1 " + what + "\r\nContent-Length: 0\r\n\r\n")
		}
	})
	ctx, c, rec := newClient(t)
	early := &call{start: 2, end: 4, status: 200}
	send := func(what string) {
		status.Store(what)
		_, err := c.Post(ctx, s.URL, nil, nil)
		if (err == nil) != (what != "") {
			t.Fatalf("%q: %v", what, err)
		}
	}
	recoveries := func() int64 { return rec.Counts("home.")["recovery"] }
	send("200 OK")
	send("503 Service Unavailable")
	send("200 OK")
	if recoveries() != 0 {
		t.Error("an answer is no outage")
	}
	send("")
	time.Sleep(down)
	send("")
	send("503 Service Unavailable")
	if recoveries() != 0 {
		t.Error("recovered by a 503")
	}
	send("404 Not Found")
	send("200 OK")
	if d := time.Duration(rec.Quantile("home.recovery", 1)); recoveries() != 1 || d < down || d > down+30*time.Second {
		t.Errorf("%d recoveries, of %v, want one of %v", recoveries(), d, down)
	}
	c.c.outage.Store(&outage{from: 1, noticed: 3})
	if c.c.recovered(early); c.c.outage.Load() == nil {
		t.Error("recovered by an answer to a call that began before the outage was noticed")
	}
	c.c.outage.Store(nil)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.GetIgnoreRes(canceled, s.URL, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if c.c.outage.Load() != nil {
		t.Error("a canceled call is no outage")
	}
}
