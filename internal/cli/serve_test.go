package cli

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a server whose parts do not end.
type stuck struct{}

func (stuck) Shutdown(ctx context.Context) { <-ctx.Done() }
func (stuck) End()                         {}

// A server whose parts do not end in time ends with another exit status than 0; one that ends
// in time is left alone.
func TestServerThatDoesNotEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals int
		ends    bool
		want    time.Duration // until the process exits; 0: it does not
	}{
		{"one signal", 1, false, endLimit},
		{"two signals", 2, false, secondLimit},
		{"it ends", 1, true, 0},
		{"no signal", 0, true, 0},
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
				endOn(t.Context(), signals, done, stuck{}, slog.New(slog.DiscardHandler), func(n int) { status, exited = n, time.Since(began) })
				if want := exitFailed; tt.ends && status != -1 || !tt.ends && (status != want || exited != tt.want) {
					t.Errorf("it exits with %d after %v", status, exited)
				}
			})
		})
	}
}
