package meter

import (
	"strings"
	"sync"
)

// otherText replaces all texts of a source beyond its first maxTexts.
const otherText = "other"

// Failure is a kind of failure: Source is the prefix of a client or the name of a class of
// users, Class is one of a few words ("timeout", "iteration"), Text is the error's text.
type Failure struct {
	Source, Class, Text string
}

// failures counts failures by kind, in bounded memory: the number of a source's texts is
// limited, and so is the length of each.
type failures struct {
	mu    sync.Mutex
	index map[Failure]int
	texts map[string]int // number of a source's kinds
	all   []failureCount
}

type failureCount struct {
	Failure
	total int64
	fresh [phases]int64 // since the last cut, by phase
}

// Failed counts a failure of a phase by source, class and text, of which it stores at most 512 bytes
// and then "..."; beyond a source's first maxTexts kinds it counts under otherText. It logs
// the first of each kind (see Log). Texts should not contain what differs from one failure
// to the next, as a port number does.
func (r *Registry) Failed(p Phase, source, class, text string) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	if kind, first := r.failures.add(p, Failure{source, class, text}); first {
		r.Log(func() string {
			return "first failure of its kind: " + kind.Source + " " + kind.Class + ": " + kind.Text
		})
	}
}

// add counts a failure of a phase, and returns the kind that it counts as, which has otherText beyond the
// first maxTexts kinds of its source, and whether it is the first of that kind. It does not
// shorten the text.
func (f *failures) add(p Phase, kind Failure) (as Failure, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := f.index[kind]
	if !ok && f.texts[kind.Source] >= maxTexts {
		kind.Text = otherText
		i, ok = f.index[kind]
	}
	if !ok {
		if f.index == nil {
			f.index, f.texts = map[Failure]int{}, map[string]int{}
		}
		kind.Text = strings.Clone(kind.Text) // it may be part of a large string
		i = len(f.all)
		f.index[kind] = i
		f.texts[kind.Source]++
		f.all = append(f.all, failureCount{Failure: kind})
	}
	f.all[i].total++
	f.all[i].fresh[p]++
	return kind, f.all[i].total == 1
}

// cut sets own and other, whose slices it reuses, to the failures since the last cut, by kind
// in the order of their first: those of the phase own or of none, and the others.
func (f *failures) cut(phase Phase, own, other *[]FailureCount) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*own, *other = (*own)[:0], (*other)[:0]
	for i := range f.all {
		c := &f.all[i]
		for p, n := range c.fresh {
			to := own
			if p := Phase(p); p != NoPhase && p != phase {
				to = other
			}
			if n == 0 {
				continue
			}
			if last := len(*to) - 1; last >= 0 && (*to)[last].Failure == c.Failure {
				(*to)[last].Count += n
			} else {
				*to = append(*to, FailureCount{c.Failure, n})
			}
		}
		c.fresh = [phases]int64{}
	}
}

// Refused returns the number of recordings refused so far because of a negative value.
func (r *Registry) Refused() int64 { return r.refused.Load() }
