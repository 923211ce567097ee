package cli

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a server that does not end.
type stuck struct {
	settled bool // but the master has ended
}

func (stuck) Shutdown(ctx context.Context) { <-ctx.Done() }
func (stuck) End()                         {}
func (s stuck) Settled() bool              { return s.settled }

// A server whose master does not end in time exits with another status than 0, unless a second
// signal asked for that; one that ends in time is left alone.
func TestServerThatDoesNotEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals int
		settled bool
		ends    bool
		after   time.Duration // the process exits
		status  int           // with which; -1: it does not
	}{
		{"the master does not end", 1, false, false, endLimit, exitFailed},
		{"a request does not end", 1, true, false, endLimit, exitOK},
		{"two signals", 2, false, false, secondLimit, exitOK},
		{"it ends", 1, true, true, 0, -1},
		{"no signal", 0, false, true, 0, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, done, status := make(chan os.Signal, 2), make(chan struct{}), -1
				began, exited := time.Now(), time.Duration(0)
				for range tt.signals {
					signals <- os.Interrupt
				}
				if tt.ends {
					time.AfterFunc(time.Millisecond, func() { close(done) })
				}
				endOn(t.Context(), signals, done, stuck{tt.settled}, slog.New(slog.DiscardHandler), func(n int) { status, exited = n, time.Since(began) })
				if status != tt.status || exited != tt.after {
					t.Errorf("it exits with %d after %v", status, exited)
				}
			})
		})
	}
}

// An agent's run is cancelled by the first signal. If the agent does not end, because a
// process of its run does not, the process exits anyway, at once after a second signal.
func TestAgentThatDoesNotEnd(t *testing.T) {
	for _, tt := range []struct {
		signals int
		after   time.Duration
		status  int
	}{{1, endLimit, exitFailed}, {2, secondLimit, exitOK}} {
		synctest.Test(t, func(t *testing.T) {
			signals, status := make(chan os.Signal, 2), -1
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			for range tt.signals {
				signals <- os.Interrupt
			}
			endOn(ctx, signals, nil, agentEnd(cancel), slog.New(slog.DiscardHandler), func(n int) { status = n })
			if status != tt.status || time.Since(began) != tt.after || ctx.Err() == nil {
				t.Errorf("%d signals: it exits with %d after %v; its context: %v", tt.signals, status, time.Since(began), ctx.Err())
			}
		})
	}
}
