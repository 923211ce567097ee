package report

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"github.com/gobench-io/gobench/internal/run"
)

// series are the intervals of a run as columns of numbers. A row is one interval, or
// several of a long run: docs/formats/report.md describes the encoding.
type series struct {
	columns []*column
	byName  map[columnName]*column
	taken   []int           // number of intervals in each row
	every   int             // maximum number of intervals in a row; a power of 2
	own     map[string]bool // titles of gobench's own figures
	last    bool            // whether the last row is of the warm-up
	first   bool            // whether its interval is the last row's first
}

// maxSeriesRows is how many rows a series has at least once it is thinned; a chart is
// seldom wider in pixels.
const maxSeriesRows = 3600

// columnName identifies a column: a field of a metric or, without a title, one of the
// interval itself.
type columnName struct {
	Title string `json:"title,omitempty"`
	Field string `json:"field"`
}

type column struct {
	columnName
	adds   bool // merged rows are added, else the greatest value is used
	values []int64
}

// newSeries returns the series, without rows, of a run with these metrics.
func newSeries(metrics []run.Metric) *series {
	s := &series{byName: map[columnName]*column{}, every: 1, own: map[string]bool{}}
	for _, m := range metrics {
		s.own[m.Title] = own(m)
	}
	return s
}

// add adds the next interval, in the order of time: to the last row, or as a new one.
func (s *series) add(i run.Interval) {
	s.first = false
	if n := len(s.taken); n > 0 && s.taken[n-1] < s.every && i.Warmup == s.last {
		s.taken[n-1]++
	} else {
		if n == 2*maxSeriesRows {
			s.thin()
		}
		s.taken = append(s.taken, 1)
		s.last, s.first = i.Warmup, true
		for _, c := range s.columns {
			c.values = append(c.values, 0)
		}
		s.set("", "from", false, int64(math.Round(i.From*1e6)))
	}
	s.set("", "seconds", true, int64(math.Round(i.Seconds*1e6)))
	s.set("", "warmup", false, oneIf(i.Warmup))
	s.set("", "errors", true, i.Errors)
	for signal, level := range i.Health {
		s.set(signal, "health", false, int64(level))
	}
	for title, r := range i.Metrics {
		s.record(title, r)
	}
}

// record sets the columns of a metric in the last row, which must exist; of the generator's
// own figures only the greatest value.
func (s *series) record(title string, r run.Record) {
	switch {
	case r.Value != nil:
		s.set(title, "value", false, *r.Value)
		return
	case r.Count == nil:
		return
	}
	t := r.Sizes
	if r.Times != nil {
		sizes := run.Sizes(*r.Times)
		t = &sizes
	}
	if t != nil && s.own[title] { // one value a second: the worst says everything
		s.set(title, "max", false, compact(t.Max))
		return
	}
	s.set(title, "count", true, *r.Count)
	if t != nil {
		for i := range run.QuantileNames[:4] {
			s.set(title, run.QuantileNames[i].Name, false, compact(Drawn(r, run.QuantileNames[i].Name)))
		}
		s.set(title, "max", false, compact(t.Max))
	}
}

// set sets the value of a column in the last row, which must exist. If that has several
// intervals, v is added to their value (adds), or the greater one is used. A new column has 0
// in earlier rows.
func (s *series) set(title, field string, adds bool, v int64) {
	name := columnName{title, field}
	c := s.byName[name]
	if c == nil {
		c = &column{columnName: name, adds: adds, values: make([]int64, len(s.taken))}
		s.byName[name] = c
		s.columns = append(s.columns, c)
	}
	last := &c.values[len(c.values)-1]
	switch {
	case s.first:
		*last = v
	case adds:
		*last += v
	default:
		*last = max(*last, v)
	}
}

// thin merges every two rows, except the last of a warm-up and the first after it: counts are
// added, of all else the greatest is used. There must be rows.
func (s *series) thin() {
	warmup := s.byName[columnName{Field: "warmup"}].values
	var pairs [][2]int // first and last row
	for i := 0; i < len(s.taken); i++ {
		if i+1 < len(s.taken) && warmup[i] == warmup[i+1] {
			pairs = append(pairs, [2]int{i, i + 1})
			i++
		} else {
			pairs = append(pairs, [2]int{i, i})
		}
	}
	for _, c := range s.columns {
		for n, p := range pairs {
			v := c.values[p[0]]
			switch next := c.values[p[1]]; {
			case p[0] == p[1] || c.Field == "from":
			case c.adds:
				v += next
			default:
				v = max(v, next)
			}
			c.values[n] = v
		}
		c.values = c.values[:len(pairs)]
	}
	for n, p := range pairs {
		taken := s.taken[p[0]]
		if p[0] != p[1] {
			taken += s.taken[p[1]]
		}
		s.taken[n] = taken
	}
	s.taken = s.taken[:len(pairs)]
	s.every *= 2
}

// encode returns the encoding: a head in JSON, then each column as the differences of its
// values. It sorts the columns.
func (s *series) encode() ([]byte, error) {
	slices.SortFunc(s.columns, func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.Title, b.Title), cmp.Compare(a.Field, b.Field))
	})
	head := struct {
		Rows    int       `json:"rows"`
		Every   int       `json:"every"` // maximum number of intervals in a row
		Columns []*column `json:"columns"`
	}{len(s.taken), s.every, s.columns}
	if s.columns == nil {
		head.Columns = []*column{}
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(text)))
	b = append(b, text...)
	for _, c := range s.columns {
		var last int64
		for _, v := range c.values {
			b = binary.AppendVarint(b, v-last)
			last = v
		}
	}
	return b, nil
}

// compact encodes v, which is 0 or more, as a number with three digits of precision: 1 for
// 0, and from 2 on 900 numbers for each decade, beginning with that of 1e-12. The number 0,
// which it never returns, stands for no value.
func compact(v float64) int64 {
	const least = -12
	if v < 1e-12 {
		return 1
	}
	exponent := math.Floor(math.Log10(v))
	digits := math.Round(v / math.Pow(10, exponent) * 100)
	if digits >= 1000 {
		digits, exponent = 100, exponent+1
	}
	return 2 + int64(exponent-least)*900 + int64(max(digits, 100)) - 100
}

// oneIf returns 1 if b is true, else 0.
func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
