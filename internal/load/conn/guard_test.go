package conn

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// pingPong answers each byte with one byte.
func pingPong(p *servers.Peer) {
	b := make([]byte, 1)
	for {
		if n, err := p.Read(b); n == 0 || err != nil {
			return
		}
		if b[0] == '?' { // no answer to this one
			continue
		}
		p.Send("!")
	}
}

// ask sends one byte and waits for one, as an operation under ctx.
func ask(ctx context.Context, c *Conn, b string) (ended bool, err error) {
	if err := c.Begin(ctx); err != nil {
		return false, err
	}
	if _, err := c.Write([]byte(b)); err != nil {
		return c.End(), err
	}
	err = c.Fill()
	c.Take(len(c.Unread()))
	return c.End(), err
}

func TestGuardCutsWhatIsInFlight(t *testing.T) {
	servers.NoLeaks(t)
	for _, cause := range []string{"canceled", "deadline"} {
		c := dial(t, servers.Faults(t, pingPong))
		ctx, cancel := context.WithCancel(context.Background())
		if cause == "deadline" {
			ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
		}
		if ended, err := ask(ctx, c, "a"); !ended || err != nil {
			t.Fatalf("%s: first operation: %v, %v", cause, ended, err)
		}
		if cause == "canceled" {
			time.AfterFunc(5*time.Millisecond, cancel)
		}
		began := time.Now()
		ended, err := ask(ctx, c, "?")
		if ended || Classify(err) != Timeout || ctx.Err() == nil {
			t.Errorf("%s: cut operation: ended %v, %v", cause, ended, err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s: it took %v", cause, d)
		}
		cancel()
		c.Drop()
	}
}

func TestGuardSparesIdleConnections(t *testing.T) {
	t.Parallel()
	c := dial(t, servers.Faults(t, pingPong))
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context()) // one for each call, as many callers have
		if ended, err := ask(ctx, c, "a"); !ended || err != nil {
			t.Fatalf("operation: ended %v, %v", ended, err)
		}
		cancel() // late: it must not touch the next operation
	}
}

func TestGuardDoneBefore(t *testing.T) {
	t.Parallel()
	c := dial(t, servers.Faults(t, pingPong))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx, c, "a"); !errors.Is(err, context.Canceled) || c.Out() != 0 {
		t.Errorf("%v with %d bytes written, want canceled and none", err, c.Out())
	}
}

func TestGuardCostsNothingAgain(t *testing.T) {
	c := dial(t, servers.Faults(t, pingPong))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := ask(ctx, c, "a"); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if err := c.Begin(ctx); err != nil || !c.End() {
			t.Fatal(err)
		}
		c.Arm(Now(), time.Hour)
	}); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
}

// The race between an operation's end and its context's: either way the connection is usable,
// or reported as unusable.
func TestGuardRace(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, pingPong)
	c := dial(t, s)
	for i := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		ended, err := ask(ctx, c, "a")
		switch {
		case !ended:
			c.Drop()
			c = dial(t, s)
		case err != nil:
			t.Fatalf("operation %d: ended, %v", i, err)
		}
		cancel()
	}
}

func TestArm(t *testing.T) {
	t.Parallel()
	c := dial(t, servers.Faults(t, (*servers.Peer).Hold))
	c.deadline, c.set = 0, 0
	start := Now()
	for _, tt := range []struct {
		name           string
		after, timeout time.Duration
		want           time.Duration // the deadline, after start
	}{
		{"first", 0, 10 * time.Second, 10100 * time.Millisecond},
		{"within one hundredth", 100 * time.Millisecond, 10 * time.Second, 10100 * time.Millisecond},
		{"beyond", 101 * time.Millisecond, 10 * time.Second, 10201 * time.Millisecond},
		{"shorter", 200 * time.Millisecond, time.Second, 1210 * time.Millisecond},
	} {
		c.Arm(start+tt.after, tt.timeout)
		if got := c.deadline - start; got != tt.want {
			t.Errorf("%s: deadline %v after start, want %v", tt.name, got, tt.want)
		}
	}
}

// An operation that ArmAsk begins has its whole time, though the socket's deadline is that of
// the previous operation; and it can be interrupted.
func TestArmAsk(t *testing.T) {
	t.Parallel()
	const limit, before = 3 * time.Second, 1200 * time.Millisecond
	// armed returns a connection whose last operation was armed the time before ago, and
	// reports false if a slow host took so long for it that ArmAsk would move the deadline.
	armed := func(t *testing.T, answer time.Duration) (c *Conn, start time.Duration, ok bool) {
		t.Helper()
		c = dial(t, servers.Faults(t, func(p *servers.Peer) {
			pong := make([]byte, 1)
			p.Read(pong)
			p.Send("1")
			if answer > 0 {
				p.Read(pong)
				time.Sleep(answer) // the target's delay
				p.Send("2")
			}
			p.Hold()
		}))
		began := Now()
		c.Arm(began, limit)
		if _, err := c.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if err := c.Fill(); err != nil {
			t.Fatal(err)
		}
		c.Take(1)
		time.Sleep(max(0, before-(Now()-began))) // time between the starts of the two operations
		start = Now()
		return c, start, start-began < limit/2
	}
	ask := func(cut time.Duration, t *testing.T, answer time.Duration, what []byte) (took time.Duration, ended bool, err error) {
		t.Helper()
		c, start, ok := armed(t, answer)
		for tries := 0; !ok && tries < 50; tries++ {
			c, start, ok = armed(t, answer)
		}
		ctx, cancel := t.Context(), func() {}
		if cut > 0 {
			ctx, cancel = context.WithTimeout(ctx, cut)
		}
		defer cancel()
		set := c.set
		if c.ArmAsk(start, limit); c.set != set || c.deadline != start+limit {
			t.Errorf("the deadline is %v after the begin and the socket's %v, want %v and %v", c.deadline-start, c.set-start, limit, set-start)
		}
		if err := c.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		if err = c.AskIdle(what); err == nil {
			err = c.Fill()
		}
		return Now() - start, c.End(), err
	}
	t.Run("no answer", func(t *testing.T) {
		t.Parallel()
		if took, ended, err := ask(0, t, 0, []byte("b")); Classify(err) != Timeout || !ended || took < limit {
			t.Errorf("after %v: %v, ended: %v", took, err, ended)
		}
	})
	t.Run("a late answer", func(t *testing.T) { // beyond the deadline of the previous operation
		t.Parallel()
		took, ended, err := ask(0, t, limit-before/2, []byte("b"))
		for tries := 0; took >= limit && tries < 20; tries++ { // a slow host's answer
			took, ended, err = ask(0, t, limit-before/2, []byte("b"))
		}
		if err != nil || !ended {
			t.Errorf("after %v: %v, ended: %v", took, err, ended)
		}
	})
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		if took, ended, err := ask(0, t, 0, make([]byte, 32<<20)); Classify(err) != Timeout || !ended || took < limit {
			t.Errorf("after %v: %v, ended: %v", took, err, ended)
		}
	})
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		const cut = limit - before/2 // the socket's deadline has been moved before that
		took, ended, err := ask(cut, t, 0, []byte("b"))
		for tries := 0; took >= limit && tries < 20; tries++ { // a slow host's end of the context
			took, ended, err = ask(cut, t, 0, []byte("b"))
		}
		if Classify(err) != Timeout || ended || took >= limit {
			t.Errorf("after %v: %v, ended: %v", took, err, ended)
		}
	})
	c := dial(t, servers.Faults(t, (*servers.Peer).Hold))
	for _, tt := range []struct {
		name          string
		last, timeout time.Duration // of the previous operation, a second earlier
		stays         bool
	}{
		{"the same", 10 * time.Second, 10 * time.Second, true},
		{"half is left", 6 * time.Second, 10 * time.Second, true},
		{"less is left", 5 * time.Second, 10 * time.Second, false},
		{"shorter", 10 * time.Second, 5 * time.Second, false},
	} {
		now := Now()
		c.Arm(now-time.Second, tt.last)
		set := c.set
		if c.ArmAsk(now, tt.timeout); (c.set == set) != tt.stays || c.deadline < now+tt.timeout {
			t.Errorf("%s: the socket's deadline is %v after now, the operation's %v", tt.name, c.set-now, c.deadline-now)
		}
	}
}
