package merge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// maxSamples is how many failed exchanges of a source and class are stored: the first of
// all executors.
const maxSamples = 3

// sample stores a failed exchange, also of a warm-up, if it is one of the three earliest of
// its source and class.
func (m *Merger) sample(x *wire.Sample) {
	kind := failure{source: x.Source, class: x.Class}
	of := append(m.samples[kind], run.Sample{Source: x.Source, Class: x.Class, At: max(0, time.Duration(x.AtNs).Seconds()), Text: strings.ToValidUTF8(x.Text, "\uFFFD")})
	slices.SortStableFunc(of, func(a, b run.Sample) int { return cmp.Compare(a.At, b.At) })
	m.samples[kind] = of[:min(len(of), maxSamples)]
}

// Samples returns the stored failed exchanges, at most three of each source and class,
// sorted by these and by time; nil without any.
func (m *Merger) Samples() (all []run.Sample) {
	for _, of := range m.samples {
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b run.Sample) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Class, b.Class), cmp.Compare(a.At, b.At))
	})
	return all
}
