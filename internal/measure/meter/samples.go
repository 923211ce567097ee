package meter

import (
	"strings"
	"sync"
	"time"
)

// Limits of the samples of one registry: together at most 1.2 MB in a run.
const (
	maxSamples     = 3       // of a source and class
	maxSampleKinds = 100     // sources and classes
	maxSample      = 4 << 10 // bytes of a text
)

// Sample is the transcript of a failed exchange, or another description of a failure.
type Sample struct {
	Source, Class string    // as in Failure
	Began         time.Time // the exchange
	Text          string    // lines that are safe to print on a terminal
}

// samples stores the first few failures of each kind.
type samples struct {
	mu     sync.Mutex
	stored map[Failure]int // number stored, by source and class
	new    []Sample        // since the last cut
}

// WantsSample reports whether a sample of a source and class would be stored; otherwise its
// text need not be made.
func (r *Registry) WantsSample(source, class string) bool {
	r.samples.mu.Lock()
	defer r.samples.mu.Unlock()
	return r.samples.wants(Failure{Source: source, Class: class})
}

// keep stores s if it is still wanted; a text longer than maxSample bytes is cut, with a
// last line "[cut]".
func (r *Registry) keep(s Sample) {
	f := &r.samples
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := Failure{Source: strings.Clone(s.Source), Class: strings.Clone(s.Class)}
	if !f.wants(kind) {
		return
	}
	if len(s.Text) > maxSample {
		const end = "\n[cut]"
		s.Text = strings.ToValidUTF8(s.Text[:maxSample-len(end)], "") + end
	}
	if f.stored == nil {
		f.stored = map[Failure]int{}
	}
	f.stored[kind]++
	s.Source, s.Class = kind.Source, kind.Class
	f.new = append(f.new, s)
}

// wants implements WantsSample; the caller holds mu.
func (f *samples) wants(kind Failure) bool {
	n, known := f.stored[kind]
	return n < maxSamples && (known || len(f.stored) < maxSampleKinds)
}

// cut returns the samples since the last cut, in the order of keep; nil without any.
func (f *samples) cut() (all []Sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, f.new = f.new, nil
	return all
}
