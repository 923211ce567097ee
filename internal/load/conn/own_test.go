package conn

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// watched runs a watch of the process until the test ends, and waits until it knows the time of day.
func watched(t *testing.T) {
	stop, done, first := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer close(done)
		delay.Watch(stop, func() int64 { return 0 }, func(time.Duration) {
			select {
			case first <- struct{}{}:
			default:
			}
		})
	}()
	<-first
	t.Cleanup(func() { close(stop); <-done })
}

// What an answer waits in the kernel until it is read is gobench's own, whichever way the
// connection was opened; what the server takes is not.
func TestOwn(t *testing.T) {
	if !canStamp {
		t.Log("no time stamps of the kernel here: the process's stops stand for them")
	}
	watched(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const takes, waits = 30 * time.Millisecond, 50 * time.Millisecond
	answered := make(chan [2]time.Duration, 10) // a moment before, one after
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 10)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					time.Sleep(takes)
					before := Now()
					_, _ = c.Write([]byte("answer"))
					answered <- [2]time.Duration{before, Now()}
				}
			}()
		}
	}()
	addr := l.Addr().String()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var d Dialer
	direct, err := d.Dial(context.Background(), addr, time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	named, err := d.Dial(context.Background(), "localhost:"+port, time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Conn{"of its own": direct, "by name": named, "of package net": New(nc)} {
		for range 3 { // the kernel begins to stamp packets a moment after the first socket wants that
			begin := Now()
			c.Arm(begin, time.Second)
			if _, err := c.Write([]byte("request")); err != nil {
				t.Fatal(err)
			}
			wrote, sent := Now(), <-answered
			time.Sleep(waits)
			if err := c.Fill(); err != nil {
				t.Fatal(err)
			}
			end := Now()
			c.Take(len(c.Unread()))
			own := c.Own(begin, end)
			most, fewest := end-sent[0]+wrote-begin+time.Millisecond, end-sent[1]-time.Millisecond
			if stamped := c.stamp != 0; stamped && (own > most || own < fewest) {
				t.Errorf("%s: %v of %v was gobench's own, want %v to %v", name, own, end-begin, fewest, most)
			} else if !stamped && own > end-begin {
				t.Errorf("%s: %v of %v", name, own, end-begin)
			}
		}
		if canStamp && c.stamp == 0 {
			t.Errorf("%s: the kernel did not say when it received the answer", name)
		}
		c.Close()
	}
}

// Another time limit within an operation leaves what is known of its sending.
func TestRearmKeepsWhenItWasSent(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := New(a)
	c.Arm(Now(), time.Second)
	c.sent = 5
	c.Rearm(Now(), time.Minute)
	if c.sent != 5 {
		t.Error("it is forgotten")
	}
	if c.Arm(Now(), time.Second); c.sent != 0 {
		t.Error("the next operation has it")
	}
}

// What the process was stopped in a message of several turns is its own, in one of a single turn only
// what the stamp says.
func TestOwnOfLongMessages(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	end := Now()
	for name, tt := range map[string]struct {
		parts, full int
		want        time.Duration
	}{"one answer": {1, 0, 0}, "a long one": {2, 0, 300 * ms}, "a long request": {1, 1, 300 * ms}} {
		c := &Conn{stood: delay.Stood(end) - 300*ms, parts: tt.parts, full: tt.full}
		if own := c.Own(end-time.Second, end); own < tt.want || own > tt.want+100*ms {
			t.Errorf("%s: %v, want %v", name, own, tt.want)
		}
		if own := c.Own(end-100*ms, end); own > 100*ms {
			t.Errorf("%s: %v of 100 ms", name, own)
		}
	}
}

// An operation has the time more in which the process was stopped: what came meanwhile is read.
func TestTimeLimitAndStops(t *testing.T) {
	t.Parallel()
	for _, stopped := range []time.Duration{0, 2 * time.Second} {
		here, there := pair(t)
		c := New(here)
		c.Arm(Now(), 50*time.Millisecond)
		c.stood -= stopped
		go func() {
			time.Sleep(300 * time.Millisecond)
			_, _ = there.Write([]byte("answer"))
		}()
		err := c.Fill()
		if timeout := Classify(err) == Timeout; timeout != (stopped == 0) || err != nil && !timeout {
			t.Errorf("stopped for %v: %v", stopped, err)
		}
		c.Close()
		there.Close()
	}
}

// pair returns the two ends of a connection.
func pair(t *testing.T) (here, there net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if here, err = net.Dial("tcp", l.Addr().String()); err == nil {
		there, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return here, there
}

// A request that is sent late is gobench's own fault, up to the answer.
func TestOwnOfSending(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	c := &Conn{sent: 1005 * ms}
	for _, tt := range []struct{ begin, want time.Duration }{{1000 * ms, 5 * ms}, {1005*ms - 90*time.Microsecond, 0}, {1006 * ms, 0}} {
		if own := c.Own(tt.begin, 1010*ms) - delay.Waited(tt.begin, 1010*ms); own != tt.want {
			t.Errorf("begun at %v: %v, want %v", tt.begin, own, tt.want)
		}
	}
}
