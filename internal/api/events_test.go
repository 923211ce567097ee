package api

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// cutter passes connections on to a server, and cuts each after a random number of bytes
// of its answer, so many times in all.
type cutter struct {
	net.Listener
	to   string
	left atomic.Int64
	cuts atomic.Int64
	all  sync.WaitGroup
}

func newCutter(t *testing.T, to string, times int) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to}
	c.left.Store(int64(times))
	c.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.all.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.all.Wait()
	})
	return c
}

func (c *cutter) pass(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer up.Close()
	plain := func(c net.Conn) io.ReadWriter { return struct{ io.ReadWriter }{c} } // a copy by the kernel keeps pipes open
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(plain(up), plain(down))
		_ = up.(*net.TCPConn).CloseWrite()
	})
	if c.left.Add(-1) >= 0 {
		c.cuts.Add(1)
		_, _ = io.CopyN(plain(down), plain(up), 1+rand.Int64N(8000))
	} else {
		_, _ = io.Copy(plain(down), plain(up))
	}
	down.Close()
	back.Wait()
}

// TestEventsSurviveReconnections is F58: a connection that is cut 50 times at random
// bytes, while events come, still delivers each event once and in order.
func TestEventsSurviveReconnections(t *testing.T) {
	const cuts, events = 50, 400
	r := serve(t, Options{}).people()
	proxy := newCutter(t, r.addr, cuts)
	c, err := client.New(proxy.Addr().String(), client.Options{Token: r.tokens[auth.Viewer], Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id, other := r.running(), r.queued()
	var told sync.WaitGroup
	told.Go(func() {
		for n := range events {
			r.master.interval(id, n)
			r.master.interval(other, n)
			if n%20 == 0 { // there is always more to come while there are cuts to make
				for before := proxy.cuts.Load(); proxy.left.Load() > 0 && proxy.cuts.Load() == before && t.Context().Err() == nil; {
					r.master.interval(id, n)
					time.Sleep(time.Millisecond)
				}
			}
		}
		for proxy.left.Load() > 0 && t.Context().Err() == nil {
			r.master.interval(id, events)
			time.Sleep(time.Millisecond)
		}
		r.master.mu.Lock()
		defer r.master.mu.Unlock()
		r.master.emit(id, event.Event{Kind: event.Ended, Time: time.Now(), State: run.Finished})
	})
	var got []types.Event
	for e, err := range c.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	told.Wait()
	if n := proxy.cuts.Load(); n != cuts {
		t.Errorf("the connection was cut %d times", n)
	}
	var want []*Event
	for _, e := range r.master.events {
		if e.Run == id {
			want = append(want, e)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d events came of %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Number != want[i].Number || got[i].Kind != want[i].Kind {
			t.Fatalf("event %d is number %d (%s), not %d (%s)", i, got[i].Number, got[i].Kind, want[i].Number, want[i].Kind)
		}
		if want[i].Totals != nil && *got[i].Live().Totals().Metrics[0].Count != *want[i].Totals().Metrics[0].Count {
			t.Errorf("event %d has other totals", i)
		}
	}
	t.Logf("%d events over %d connections", len(got), cuts+1)
}

// TestEventsAreSaidWhole holds that a live.Event comes back from its JSON as it was.
func TestEventsAreSaidWhole(t *testing.T) {
	n, rate, exit := int64(7), 2.5, 3
	at := time.Unix(1700000000, 123456789).UTC()
	for _, want := range []event.Event{
		{Kind: event.State, Time: at, State: run.Running, Run: "r1", Text: "x"},
		{Kind: event.Step, Time: at, Text: "compiling"},
		{Kind: event.Step, Time: at, Detail: "2 of 3 agents", Plan: &event.Plan{
			Users: 10, Duration: 90 * time.Second, Hold: true, Warmup: 1234567891 * time.Nanosecond,
			Classes: []event.Class{
				{Name: "a", Users: 4, Closed: true, Iterations: 9, Length: time.Hour},
				{Name: "b", Users: 6, Open: true, Stages: []event.Stage{{To: 33.3, Over: 1001 * time.Millisecond, Warmup: true}, {To: 0, Over: 1}}},
			},
		}},
		{Kind: event.Interval, Time: at, Interval: &run.Interval{From: 1, Seconds: 1, Metrics: map[string]run.Record{"x": {Count: &n, Times: &run.Times{P99: 1.5}}}}, Verdict: run.Suspect},
		{Kind: event.Control, Time: at, Control: &event.Change{What: "scale", Class: "a", Users: &n, Rate: &rate, By: "ann"}, Text: "y"},
		{Kind: event.Ending, Time: at, Cancel: true, By: "ann"},
		{Kind: event.Crossed, Time: at, Threshold: &run.Threshold{Expression: "p99 < 1s", At: &rate}},
		{Kind: event.Ended, Time: at, State: run.Failed, Cause: "why", Exit: &exit, Error: "e"},
	} {
		b, err := json.Marshal(types.NewEvent(9, "r1", want, true))
		if err != nil {
			t.Fatal(err)
		}
		var said types.Event
		if err := json.Unmarshal(b, &said); err != nil {
			t.Fatal(err)
		}
		if got := said.Live(); !reflect.DeepEqual(got, want) || said.Number != 9 || said.Run != "r1" {
			t.Errorf("%s\n got %+v\nwant %+v", b, got, want)
		}
	}
	totals := event.Totals{
		Metrics: []run.Metric{{Title: "x", Type: "counter", Record: run.Record{Count: &n}}}, Failures: []run.Failure{{Source: "s", Count: 2}},
		Verdict: "SUSPECT", Reasons: []run.Reason{{Signal: "lag", Level: run.Amber, Windows: 2, Worst: 1.5}},
	}
	e := event.Event{Kind: event.Interval, Interval: &run.Interval{}, Totals: func() event.Totals { return totals }}
	b, _ := json.Marshal(types.NewEvent(1, "r1", e, true))
	var said types.Event
	if err := json.Unmarshal(b, &said); err != nil {
		t.Fatal(err)
	}
	if got := said.Live().Totals(); !reflect.DeepEqual(got, totals) {
		t.Errorf("totals %+v, want %+v", got, totals)
	}
	if b, _ := json.Marshal(types.NewEvent(1, "r1", e, false)); strings.Contains(string(b), "totals") {
		t.Errorf("totals that were not asked for: %s", b)
	}
}

// follow opens a stream and reads its lines until it ends.
func (r *rig) follow(token, path string, headers ...string) (answer *http.Response, lines <-chan string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err = r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	out := make(chan string)
	go func() {
		defer close(out)
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			select {
			case out <- s.Text():
			case <-r.t.Context().Done():
				return
			}
		}
	}()
	r.t.Cleanup(func() { answer.Body.Close() })
	return answer, out
}

// comes waits until a line with text comes.
func comes(t *testing.T, lines <-chan string, text string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case line, more := <-lines:
			if !more {
				t.Fatalf("the stream has ended without %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("%q did not come", text)
		}
	}
}

// ends waits until a stream has ended.
func ends(t *testing.T, lines <-chan string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case _, more := <-lines:
			if !more {
				return
			}
		case <-late:
			t.Fatal("the stream goes on")
		}
	}
}

func TestEventStream(t *testing.T) {
	r := serve(t, Options{Times: Times{Heartbeat: 20 * time.Millisecond}}).people()
	id := r.running()
	answer, lines := r.follow(r.tokens[auth.Viewer], "/api/v1/events?run="+id)
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	comes(t, lines, `"state":"running"`)
	comes(t, lines, ": still here")
	r.master.interval(id, 1)
	comes(t, lines, "id: 4")
	comes(t, lines, `"interval":`)
	_, all := r.follow(r.tokens[auth.Viewer], "/api/v1/events?after=1&totals=1", "Last-Event-ID", "3")
	comes(t, all, "id: 4")
	comes(t, all, `"totals":`)
	r.master.mu.Lock()
	r.master.emit(id, event.Event{Kind: event.Ended, State: run.Finished})
	r.master.mu.Unlock()
	comes(t, lines, `"event":"end"`)
	ends(t, lines) // the stream of this run, but not that of all
	comes(t, all, `"event":"end"`)
	comes(t, all, ": still here")
	for path, want := range map[string]int{
		"/api/v1/events?run=20060102-150405-aaaaaa": 404,
		"/api/v1/events?run=../../x":                404,
	} {
		if got := r.ask(r.tokens[auth.Viewer], "GET", path, ""); got.StatusCode != want {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/events", "", "Last-Event-ID", "x"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("Last-Event-ID of no number: %d", got.StatusCode)
	}
}
