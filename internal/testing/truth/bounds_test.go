//go:build linux

package truth

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

// witness is an HTTP server that knows the truth: of each request it notes when the kernel received
// its last bytes, and when it had done its work and answered.
type witness struct {
	url     string
	service func() time.Duration // of the next request
	queue   chan struct{}        // with a capacity: so many requests are worked on at once, the others wait in order; nil: all at once

	mu    sync.Mutex
	rand  *rand.Rand
	all   []served
	lacks int // requests without a time stamp
}

// served is a request: when it arrived, when its work began and ended, Unix time.
type served struct{ arrived, began, ended time.Duration }

// newWitness starts a witness whose requests take mean on average, on a few servers in order of
// arrival, or with servers 0 each by itself. It is closed at the test's end.
func newWitness(t *testing.T, r *rand.Rand, mean time.Duration, servers int) *witness {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := &witness{url: "http://" + l.Addr().String() + "/", rand: r}
	w.service = func() time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		return time.Duration((0.5 + 0.5*w.rand.ExpFloat64()) * float64(mean))
	}
	if servers > 0 {
		w.queue = make(chan struct{}, servers)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(c.(*net.TCPConn))
		}
	}()
	return w
}

func unixNow() time.Duration { return time.Duration(time.Now().UnixNano()) }

// serve answers the requests of a connection, which come one at a time, each in one packet.
func (w *witness) serve(c *net.TCPConn) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	buf, control := make([]byte, 4096), make([]byte, 64)
	for {
		var n int
		var at time.Duration
		err := raw.Read(func(fd uintptr) bool {
			var oobn int
			var err error
			n, oobn, _, _, err = syscall.Recvmsg(int(fd), buf, control, 0)
			if err == syscall.EAGAIN {
				return false
			}
			at = stampOf(control[:max(oobn, 0)])
			return true
		})
		if err != nil || n <= 0 || !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
			return
		}
		x := served{arrived: at}
		if at == 0 {
			x.arrived = unixNow()
		}
		if w.queue != nil {
			w.queue <- struct{}{}
		}
		x.began = unixNow()
		wait(w.service())
		x.ended = unixNow()
		if w.queue != nil {
			<-w.queue
		}
		_, err = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		w.mu.Lock()
		w.all = append(w.all, x)
		if at == 0 {
			w.lacks++
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait sleeps, and less than a millisecond by the kernel's timer, which is more exact than Go's.
func wait(d time.Duration) {
	if d > 2*time.Millisecond {
		time.Sleep(d)
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

// stampOf returns the time stamp in a control message, Unix time; 0 without one.
func stampOf(control []byte) time.Duration {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			return time.Duration((*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano())
		}
	}
	return 0
}

// latencies returns how long the witness took for each request since it arrived.
func (w *witness) latencies() *hdr.Histogram {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := new(hdr.Histogram)
	for _, x := range w.all {
		h.Record(int64(x.ended - x.arrived))
	}
	return h
}

// responses returns how long it would have taken from the planned start, had gobench begun each
// request when it was due, rate a second: without a queue what it took, else by the order of the
// plan, with the same work.
func (w *witness) responses(rate float64) *hdr.Histogram {
	if w.queue == nil {
		return w.latencies()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// The work of a request is all of the time in which it could have been done, also when the
	// server was slow to begin it.
	work, free := make(map[served]time.Duration, len(w.all)), make(slots, cap(w.queue))
	all := slices.Clone(w.all)
	slices.SortFunc(all, func(a, b served) int { return int(a.began - b.began) })
	for _, x := range all {
		s := free.first()
		work[x] = x.ended - max(x.arrived, *s)
		*s = x.ended
	}
	slices.SortFunc(all, func(a, b served) int { return int(a.arrived - b.arrived) })
	gap := time.Duration(1e9 / rate)
	begin := all[0].arrived
	for i, x := range all { // the most punctual one began when it was due
		begin = min(begin, x.arrived-time.Duration(i)*gap)
	}
	free = make(slots, cap(w.queue))
	h := new(hdr.Histogram)
	for i, x := range all {
		planned, s := begin+time.Duration(i)*gap, free.first()
		*s = max(planned, *s) + work[x]
		h.Record(int64(*s - planned))
	}
	return h
}

// slots are the times at which servers are free.
type slots []time.Duration

// first returns the one that is free first.
func (s slots) first() *time.Duration {
	first := &s[0]
	for i := range s {
		if s[i] < *first {
			first = &s[i]
		}
	}
	return first
}

// compared is a figure of a run beside the truth, in ms.
type compared struct {
	name                string
	value, bound, truth float64
}

// inside reports whether the truth lies within the bound, and 1 % or 0.2 ms.
func (c compared) inside() bool {
	slack := max(0.01*c.value, 0.2)
	return c.truth >= c.value-c.bound-slack && c.truth <= c.value+slack
}

func (c compared) String() string {
	return fmt.Sprintf("%s %.3f ms, of which %.3f may be gobench's own; in truth %.3f", c.name, c.value, c.bound, c.truth)
}

// compare returns the figures of a metric beside the truth, and the verdict that the metric
// deserves: by what its percentiles are off by.
func compare(t *testing.T, r *run.Result, title string, truth *hdr.Histogram) (all []compared, deserved run.Verdict) {
	t.Helper()
	i := slices.IndexFunc(r.Metrics, func(m run.Metric) bool { return m.Title == title })
	if i < 0 || r.Metrics[i].Times == nil {
		t.Fatalf("the result has no times %s", title)
	}
	m := r.Metrics[i]
	quantiles, _ := m.Quantiles()
	for k, x := range run.QuantileNames {
		if run.Enough(x.Q, *m.Count) && quantiles[k].Known() {
			all = append(all, compared{title + " " + x.Name, float64(quantiles[k]), m.Bounds[x.Name], float64(truth.Quantile(x.Q)) / 1e6})
		}
	}
	all = append(all, compared{title + " max", m.Times.Max, m.Bounds["max"], float64(truth.Max()) / 1e6}, compared{title + " avg", m.Times.Avg, m.Bounds["avg"], truth.Mean() / 1e6})
	h := new(hdr.Histogram)
	if err := h.Decode(m.Histogram); err != nil {
		t.Fatal(err)
	}
	switch found := delay.Judge(title, delay.Times{All: h, Disturbed: h, Corrected: truth}); {
	case len(found) == 0:
		return all, run.Valid
	case found[0].Level == run.Red:
		return all, run.Invalid
	}
	return all, run.Suspect
}

// An executor is stopped while it makes load: the response times have the stop in them, and say so.
func TestBoundsOfAStop(t *testing.T) {
	t.Parallel()
	for tries := 1; ; tries++ { // of a hundred figures one may be outside
		w := newWitness(t, rand.New(rand.NewPCG(1, 1)), 5*time.Millisecond, 0)
		r := measure(t, "", func(gobench int) {
			executor, err := binary.Child(gobench)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond)
			stopFor(executor, 300*time.Millisecond)
		}, "http", "-c", "50", "--rate", "300", "-d", "2s", w.url)
		all, _ := compare(t, r.Result, "vu.http.response", w.responses(300))
		outside := 0
		for _, c := range all {
			if !c.inside() {
				outside++
				t.Log(c)
			}
		}
		if max := all[len(all)-2]; max.value < 250 || max.bound < 200 {
			t.Errorf("the stop is not in the maximum, or not its bound: %v", max)
		}
		if r.Verdict == run.Valid || !reason(r, "percentiles") {
			t.Errorf("the run is %s because of %+v", r.Verdict, r.Reasons)
		}
		if outside == 0 || t.Failed() {
			return
		}
		if tries == 3 {
			t.Fatalf("%d figures are outside their bounds, in each of %d runs", outside, tries)
		}
	}
}

// stopFor stops a process for a time.
func stopFor(pid int, d time.Duration) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(d)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// neighbours starts processes that compute, until the returned function is called.
func neighbours(t *testing.T, n int) (end func()) {
	t.Helper()
	var all []*exec.Cmd
	for range n {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, loop)
	}
	return sync.OnceFunc(func() {
		for _, loop := range all {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		}
	})
}
