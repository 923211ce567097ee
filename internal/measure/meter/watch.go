package meter

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/measure/transcript"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// watch is what a look inside shows: exchanges as they go, when somebody watches them,
// and lines on what the executor does, when somebody wants them. Nobody does as a rule:
// asking costs an atomic load.
type watch struct {
	show atomic.Pointer[func(text string)]
	left atomic.Int64 // exchanges that are still shown
	rest atomic.Int64 // remarks that are still shown
	log  atomic.Pointer[func(line string)]
}

// Watch has show called with what happens, from now on: with at most so many exchanges,
// and so many remarks on what happens beside them.
func (r *Registry) Watch(exchanges, remarks int, show func(text string)) {
	r.watch.left.Store(int64(exchanges))
	r.watch.rest.Store(int64(remarks))
	r.watch.show.Store(&show)
}

// Watched reports whether exchanges are shown.
func (r *Registry) Watched() bool { return r.watch.show.Load() != nil }

// Show shows an exchange of s's user; after the last one that is to be shown nobody
// watches.
func (s *Scope) Show(x transcript.Exchange) {
	w := &s.Registry.watch
	show := w.show.Load()
	if show == nil {
		return
	}
	left := w.left.Add(-1)
	if left >= 0 {
		(*show)(x.Text(s.user()))
	}
	if left <= 0 {
		w.show.Store(nil)
	}
}

// Remark shows what happened beside exchanges, as a check, made only when somebody
// watches.
func (s *Scope) Remark(line func() string) {
	w := &s.Registry.watch
	if show := w.show.Load(); show != nil && w.rest.Add(-1) >= 0 {
		x := transcript.Exchange{What: "* " + line()}
		(*show)(x.Text(s.user()))
	}
}

// Sample keeps a failure of s's user if it is among the first of its source and class,
// and makes it only then.
func (s *Scope) Sample(source, class string, failed func() transcript.Exchange) {
	if !s.Registry.WantsSample(source, class) {
		return
	}
	x := failed()
	if x.Began.IsZero() {
		x.Began = time.Now()
	}
	s.Registry.keep(Sample{source, class, x.Began, x.Sample(s.user())})
}

// user names s's user; "" when it is nobody's.
func (s *Scope) user() string {
	names := s.Registry.classes.Load()
	if !s.Named || names == nil || s.Class >= len(*names) {
		return ""
	}
	return fmt.Sprintf("user %d of %s", s.User, (*names)[s.Class])
}

// OnLog has log called with lines on what the executor does, from now on.
func (r *Registry) OnLog(log func(line string)) { r.watch.log.Store(&log) }

// Log tells what the executor does, if somebody wants to know. It is not for what
// happens with each operation.
func (r *Registry) Log(line func() string) {
	if log := r.watch.log.Load(); log != nil {
		(*log)(transcript.Clean(redact.Line(line())))
	}
}
