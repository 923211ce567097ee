package profile

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// Taker takes profiles during the load. Its methods may be called by any number of goroutines
// at once.
type Taker struct {
	over chan struct{} // closed by End
	wg   sync.WaitGroup

	mu    sync.Mutex
	ended bool // guarded by mu
}

// NewTaker returns a Taker. The caller must call End.
func NewTaker() *Taker { return &Taker{over: make(chan struct{})} }

// errOver is the error for a profile that is requested after the load.
var errOver = errors.New("the load is over")

// Take starts a profile in a goroutine and returns. It calls done once, from that goroutine,
// when the file is complete or with the error: after the profile's duration, if it has one, or
// when the load is over (End). A heap profile is written at once. After End, Take calls done
// with an error before it returns.
func (t *Taker) Take(p *wire.Profile, done func(error)) {
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		done(errOver)
		return
	}
	t.wg.Add(1)
	t.mu.Unlock()
	go func() {
		defer t.wg.Done()
		done(t.take(p))
	}()
}

// take takes a profile and returns when its file is complete. The file is created or
// truncated; after an error it stays.
func (t *Taker) take(p *wire.Profile) error {
	now := &wire.Profile{Kind: p.Kind, File: p.File}
	set, err := Begin([]*wire.Profile{now})
	if err != nil {
		return err
	}
	if p.Kind != "heap" {
		var limit <-chan time.Time
		if p.DurationNs > 0 {
			timer := time.NewTimer(time.Duration(p.DurationNs))
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-limit:
		case <-t.over:
		}
	}
	if err := set.End(); err != nil {
		return fmt.Errorf("end it: %w", err)
	}
	return nil
}

// End ends the running profiles, and returns after their done functions, which must not call
// End. Later calls of Take fail. It may be called again.
func (t *Taker) End() {
	t.mu.Lock()
	first := !t.ended
	t.ended = true
	t.mu.Unlock()
	if first {
		close(t.over)
	}
	t.wg.Wait()
}
