// Package profile takes profiles of an executor while it generates load, each in a file for "go
// tool pprof" or "go tool trace".
package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// Sampling rates of the contention profiles: one in mutexFraction waits for a mutex is sampled,
// and one wait per blockRate of waiting time.
const (
	mutexFraction = 10
	blockRate     = 10 * time.Microsecond
)

// Set is the profiles of one run. Call Begin when the load begins, LoadOver when it is over
// and its users still exist, and End when they have returned. LoadOver and End may be called
// concurrently with the end of a profile by its limit.
type Set struct {
	all []*one
}

// one is a running profile.
type one struct {
	kind string
	file *os.File

	mu    sync.Mutex
	limit *time.Timer // ends the profile before the load does; nil: no limit; guarded by mu
	over  bool        // guarded by mu
	err   error       // guarded by mu
}

// kind defines how a profile is started and ended. A nil begin does nothing.
type kind struct {
	begin func(w io.Writer) error
	end   func(w io.Writer) error
}

var kinds = map[string]kind{
	"cpu":   {pprof.StartCPUProfile, func(io.Writer) error { pprof.StopCPUProfile(); return nil }},
	"trace": {trace.Start, func(io.Writer) error { trace.Stop(); return nil }},
	"heap": {nil, func(w io.Writer) error {
		runtime.GC() // the profile shows the state after the last collection
		return pprof.Lookup("heap").WriteTo(w, 0)
	}},
	"mutex": {
		func(io.Writer) error { runtime.SetMutexProfileFraction(mutexFraction); return nil },
		func(w io.Writer) error {
			defer runtime.SetMutexProfileFraction(0)
			return pprof.Lookup("mutex").WriteTo(w, 0)
		},
	},
	"block": {
		func(io.Writer) error { runtime.SetBlockProfileRate(int(blockRate)); return nil },
		func(w io.Writer) error {
			defer runtime.SetBlockProfileRate(0)
			return pprof.Lookup("block").WriteTo(w, 0)
		},
	},
}

// Begin creates the files of the requested profiles, or truncates them, and starts the
// profiles. The caller must call End. A profile with a duration also ends after it. If one
// can't be started, as an unknown kind or a second CPU profile of the process, Begin ends
// those before it and returns an error with the kind and the file; the files stay.
func Begin(asked []*wire.Profile) (*Set, error) {
	s := &Set{}
	for _, p := range asked {
		if err := s.begin(p); err != nil {
			return nil, errors.Join(fmt.Errorf("%s profile %s: %w", p.Kind, p.File, err), s.End())
		}
	}
	return s, nil
}

// begin creates or truncates a profile's file, starts the profile and adds it to s; it ends
// after its duration, if that is above 0, or with End. After an error it is not running, and
// its file, which stays, is closed.
func (s *Set) begin(p *wire.Profile) error {
	k, ok := kinds[p.Kind]
	if !ok {
		return errors.New("this executor knows no such profile")
	}
	file, err := os.OpenFile(p.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if k.begin != nil {
		if err := k.begin(file); err != nil {
			file.Close()
			return err
		}
	}
	o := &one{kind: p.Kind, file: file}
	o.mu.Lock() // end may be called at once
	defer o.mu.Unlock()
	if d := time.Duration(p.DurationNs); d > 0 {
		o.limit = time.AfterFunc(d, o.end)
	}
	s.all = append(s.all, o)
	return nil
}

// LoadOver writes the heap profiles, which show what the load occupies, before the users
// return. Their errors are returned by End.
func (s *Set) LoadOver() {
	for _, o := range s.all {
		if o.kind == "heap" {
			o.end()
		}
	}
}

// End ends the profiles that still run and closes their files. When it returns nil, all files
// are complete; otherwise the error has the kind of each profile whose file is not. It may be
// called again and returns the same.
func (s *Set) End() error {
	var errs []error
	for _, o := range s.all {
		o.end()
		o.mu.Lock()
		if o.err != nil {
			errs = append(errs, fmt.Errorf("%s profile: %w", o.kind, o.err))
		}
		o.mu.Unlock()
	}
	return errors.Join(errs...)
}

// end writes the profile and closes its file, once; it stores the error in o.err.
func (o *one) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	o.over = true
	if o.limit != nil {
		o.limit.Stop()
	}
	o.err = errors.Join(kinds[o.kind].end(o.file), o.file.Close())
}
