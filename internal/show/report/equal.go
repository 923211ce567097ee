package report

import (
	"fmt"
	"math"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// fewest is how many equal runs a spread needs.
const fewest = 3

// Earlier sets by how much the figures of runs that are equal to a differ, of which all are
// candidates: those, and a itself, that began before both a and b were over, so that what changed
// between the two is in none. A run is one observation: what the machine does by itself from run to
// run is in no figure within a run, only in the differences of equal runs. With fewer than three
// equal runs it sets nothing.
func (c *Comparison) Earlier(a, b *run.Result, all []*run.Result) {
	first := a
	if b.Created.Before(a.Created) {
		first = b
	}
	var equal []*run.Result
	for _, r := range all {
		if r.State.Final() && r.ID != b.ID && !r.Created.After(first.Created) && len(differences(a, r)) == 0 && len(generators(a, r)) == 0 {
			equal = append(equal, r)
		}
	}
	if len(equal) < fewest {
		return
	}
	c.EqualRuns = len(equal)
	for i := range c.Figures {
		f := &c.Figures[i]
		var logs []float64
		for _, r := range equal {
			if v := figureOf(byTitle(r, f.Metric), f.Figure); v != nil && *v > 0 {
				logs = append(logs, math.Log(*v))
			}
		}
		if len(logs) >= fewest {
			percent := 100 * (math.Exp(student(len(logs)-1)*math.Sqrt2*deviation(logs)) - 1)
			f.Equal = &percent
		}
	}
}

// figureOf returns a figure of a Figure by its name; nil if m does not have it.
func figureOf(m run.Metric, name string) *float64 {
	if name == "rps" {
		return m.RPS
	}
	v, _ := quantileOf(m, name)
	return v
}

// student returns the 97.5 % quantile of Student's t distribution with n degrees of freedom, 2 or
// more: 4.17 for 2 (its true value is 4.30), 1.96 for many; Abramowitz and Stegun, Handbook of
// Mathematical Functions, 26.7.5.
func student(n int) float64 {
	const x = 1.959964
	v, sum := float64(n), x
	for i, g := range []float64{
		(x*x*x + x) / 4,
		(5*math.Pow(x, 5) + 16*x*x*x + 3*x) / 96,
		(3*math.Pow(x, 7) + 19*math.Pow(x, 5) + 17*x*x*x - 15*x) / 384,
	} {
		sum += g / math.Pow(v, float64(i+1))
	}
	return sum
}

// deviation returns the standard deviation of a sample of two values or more.
func deviation(all []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(all)-1))
}

// maxOthers is by how much of the CPUs, in thousandths, what other processes used may differ
// between runs that are alike.
const maxOthers = 200

// generators returns what gobench and the machine did differently in the two runs: a closed load on
// one thread is not as fast as on two, and times among busy neighbours are not those of a quiet machine.
func generators(a, b *run.Result) (all []Difference) {
	if invalid := func(r *run.Result) bool { return r.Verdict == run.Invalid }; invalid(a) != invalid(b) {
		all = append(all, Difference{"verdict", orNone(string(a.Verdict)), orNone(string(b.Verdict))})
	}
	if x, y, ok := both(a, b, "procs", func(s *run.Sizes) float64 { return float64(s.P50) }); ok && x != y {
		all = append(all, Difference{"gobench's threads", fmt.Sprintf("%.0f in most seconds", x), fmt.Sprintf("%.0f in most seconds", y)})
	}
	mean := func(s *run.Sizes) float64 { return s.Avg }
	cpuA, cpuB, known := both(a, b, "cpu", mean)
	ownA, ownB, also := both(a, b, "cpu_own", mean)
	if x, y := max(0, cpuA-ownA), max(0, cpuB-ownB); known && also && math.Abs(x-y) > maxOthers {
		all = append(all, Difference{"CPU of other processes", units.Percent(x / 1000), units.Percent(y / 1000)})
	}
	return all
}

// both returns a figure of gobench's own of both runs; ok is false if one lacks it.
func both(a, b *run.Result, name string, of func(*run.Sizes) float64) (x, y float64, ok bool) {
	get := func(r *run.Result) (float64, bool) {
		m := run.Find(r.Metrics, run.Counts{Role: run.Own, Part: name})
		if m == nil || m.Sizes == nil {
			return 0, false
		}
		return of(m.Sizes), true
	}
	x, okA := get(a)
	y, okB := get(b)
	return x, y, okA && okB
}
