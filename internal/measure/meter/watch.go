package meter

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/measure/transcript"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// watch shows exchanges as they happen, while they are watched, and log lines on the
// executor's work, if they are wanted. Usually neither is: checking that costs an atomic
// load.
type watch struct {
	show atomic.Pointer[func(text string)]
	left atomic.Int64 // number of exchanges still to show
	rest atomic.Int64 // number of remarks still to show
	log  atomic.Pointer[func(line string)]
}

// Watch sets a function that is called with the transcripts of the next exchanges, redacted
// and without a line end after the last line, and with remarks on what happens between
// them, at most the given number of each; the watch ends with the last exchange. It
// replaces an earlier watch. show is called by the goroutines of users, several at once.
func (r *Registry) Watch(exchanges, remarks int, show func(text string)) {
	r.watch.left.Store(int64(exchanges))
	r.watch.rest.Store(int64(remarks))
	r.watch.show.Store(&show)
}

// Watched reports whether exchanges are shown.
func (r *Registry) Watched() bool { return r.watch.show.Load() != nil }

// Show shows an exchange of s's user, if exchanges are watched. The last one ends the
// watch.
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

// Remark shows what happened beside exchanges, as a check, if exchanges are watched and the
// limit of remarks is not reached. Only then is line called.
func (s *Scope) Remark(line func() string) {
	w := &s.Registry.watch
	if show := w.show.Load(); show != nil && w.rest.Add(-1) >= 0 {
		x := transcript.Exchange{What: "* " + line()}
		(*show)(x.Text(s.user()))
	}
}

// Sample stores a failure of s's user if it is among the first of its source and class (see
// maxSamples). failed is called only then; an exchange without a time began now.
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

// user names s's user, "user 3 of NAME"; "" if the scope has none or its class no name.
func (s *Scope) user() string {
	names := s.Registry.classes.Load()
	if !s.Named || names == nil || s.Class >= len(*names) {
		return ""
	}
	return fmt.Sprintf("user %d of %s", s.User, (*names)[s.Class])
}

// OnLog sets a function that is called with log lines on the executor's work.
func (r *Registry) OnLog(log func(line string)) { r.watch.log.Store(&log) }

// Log logs what the executor does: one line, cleaned and without secrets. line is called
// only if OnLog was. It is not meant for events of each operation.
func (r *Registry) Log(line func() string) {
	if log := r.watch.log.Load(); log != nil {
		(*log)(transcript.Clean(redact.Line(line())))
	}
}
