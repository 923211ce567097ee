package meter

import (
	"strings"
	"sync"
)

// OtherText stands for all texts of a source beyond its first MaxTexts.
const OtherText = "other"

// Failure is a kind of failure: Source is the prefix of a client or the name of a
// class of users, Class is one of a few words ("timeout", "iteration"), Text is
// what the error said.
type Failure struct {
	Source, Class, Text string
}

// failures counts failures by kind, in bounded memory: the texts of a source are
// limited in number, each in length.
type failures struct {
	mu    sync.Mutex
	index map[Failure]int
	texts map[string]int // kinds of a source
	all   []failureCount
}

type failureCount struct {
	Failure
	total, told int64 // told: what earlier cuts have told of
}

// Failed counts a failure by source, class and text. Texts should not carry what
// differs from one failure to the next, as a port number does.
func (r *Registry) Failed(source, class, text string) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	if kind, first := r.failures.add(Failure{source, class, text}); first {
		r.Log(func() string {
			return "first failure of its kind: " + kind.Source + " " + kind.Class + ": " + kind.Text
		})
	}
}

// add counts a failure, and gives the kind that it counts as and whether it is the
// first of that.
func (f *failures) add(kind Failure) (as Failure, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := f.index[kind]
	if !ok && f.texts[kind.Source] >= MaxTexts {
		kind.Text = OtherText
		i, ok = f.index[kind]
	}
	if !ok {
		if f.index == nil {
			f.index, f.texts = map[Failure]int{}, map[string]int{}
		}
		kind.Text = strings.Clone(kind.Text) // it may be a piece of something large
		i = len(f.all)
		f.index[kind] = i
		f.texts[kind.Source]++
		f.all = append(f.all, failureCount{Failure: kind})
	}
	f.all[i].total++
	return kind, f.all[i].total == 1
}

// cut appends what came since the last cut to to.
func (f *failures) cut(to []FailureCount) []FailureCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.all {
		c := &f.all[i]
		if c.total != c.told {
			to = append(to, FailureCount{c.Failure, c.total - c.told})
			c.told = c.total
		}
	}
	return to
}

// Refused is the number of recordings refused so far for a negative value.
func (r *Registry) Refused() int64 { return r.refused.Load() }
