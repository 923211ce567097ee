package profile

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// Taker takes profiles from now on, while the load goes on. Its methods may be called
// at once by any goroutine.
type Taker struct {
	over chan struct{} // closed by End
	wg   sync.WaitGroup

	mu    sync.Mutex
	ended bool // guarded by mu
}

// NewTaker makes a taker. End must be called.
func NewTaker() *Taker { return &Taker{over: make(chan struct{})} }

// errOver is the error of a profile that is asked for when the load is over.
var errOver = errors.New("the load is over")

// Take takes a profile and calls done when its file is complete, or with why it is not:
// after its duration, or when the load is over. One of the heap is of now.
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

// End ends the profiles that are being taken, and returns when their done has been
// called. None is taken after it.
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
