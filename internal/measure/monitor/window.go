package monitor

import (
	"cmp"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// use is what a metric means for judging the host that recorded it: its role, and its number
// in health.Metrics or that of the host's class. Windows are added to by it.
type use struct {
	role role
	of   uint16
}

type role uint8

const (
	none role = iota
	figure
	noFiles
	noPorts
	delayed // by gobench: the times as recorded
	least   // and at least
	active  // this role and the later ones are of a class
	behind
	usersBehind
	lag
	response
	planned
	dropped
	done
)

// classRoles are the roles of a class's metrics that are used.
var classRoles = map[run.Role]role{run.ClassActive: active, run.ClassBehind: behind, run.ClassUsersBehind: usersBehind, run.ClassLag: lag,
	run.ClassResponse: response, run.ClassPlanned: planned, run.ClassDropped: dropped, run.ClassDone: done, run.ClassCut: done}

// figures are the numbers of gobench's own figures, by name.
var figures = func() map[string]uint16 {
	all := map[string]uint16{}
	for m, named := range health.Metrics {
		all[named.Name] = uint16(m)
	}
	return all
}()

// useOf returns a metric's use; the zero use if it has none, as most. It adds the class
// that the metric belongs to.
func (h *host) useOf(m run.Metric) use {
	switch r, ok := classRoles[m.Role]; {
	case ok:
		return use{r, h.class(m.Of, r)}
	case m.Role == run.ClassResponseDisturbed:
		return use{delayed, 0}
	case m.Role == run.ClassResponseCorrected:
		return use{least, 0}
	case m.Role == run.OpTimeDisturbed && m.Whole():
		return use{delayed, 1}
	case m.Role == run.OpTimeCorrected && m.Whole():
		return use{least, 1}
	case m.Role == run.Own:
		if of, known := figures[m.Part]; known {
			return use{figure, of}
		}
	case m.Role == run.OpUnanswered && m.By == "error" && m.Part == health.LocalFiles:
		return use{role: noFiles}
	case m.Role == run.OpUnanswered && m.By == "error" && m.Part == health.LocalPorts:
		return use{role: noPorts}
	}
	return use{}
}

// class returns the number of the host's class of that name, a new one if it has none; r
// notes of what kind the class is.
func (h *host) class(name string, r role) uint16 {
	i := slices.IndexFunc(h.classes, func(c class) bool { return c.name == name })
	if i < 0 {
		i = len(h.classes)
		h.classes = append(h.classes, class{name: name})
	}
	switch r {
	case active:
		h.classes[i].declared = true
	case behind:
		h.classes[i].open = true
	case usersBehind:
		h.classes[i].users = true
	}
	return uint16(i)
}

// class is one of a host's classes of users.
type class struct {
	name     string
	declared bool // declared with its number of active users, which every class has
	open     bool // its iterations start by a schedule
	users    bool // its users start iterations themselves
}

// gauges are a class's, as an executor last set them.
type gauges struct{ active, behind, usersBehind int64 }

// window is an interval of a host that its executors add to.
type window struct {
	from, to         int64 // ns since the load began
	warmup           bool
	known            [len(health.Metrics)]bool
	values           [len(health.Metrics)]float64 // the greatest recorded
	noFiles, noPorts int64
	own              [2]float64 // gobench's own part of the times of iterations, and of operations, ns
	loads            []load     // by class
}

// load is what a class did in a window.
type load struct {
	lag, response          *hdr.Histogram // nil if empty
	planned, dropped, done int64
}

// add adds to w what an executor recorded, by the uses of its metrics, all of which must be in
// e.uses; counts are the batch's histograms, at least as many as it has. It stores the last
// gauges in e.
func (hs *hosts) add(w *window, e *executor, b *wire.Batch, counts []hdr.Sparse) {
	of := func(u use) *load {
		for len(w.loads) <= int(u.of) {
			w.loads = append(w.loads, load{})
		}
		return &w.loads[u.of]
	}
	for _, c := range b.Counters {
		switch u := e.uses[c.Metric]; u.role {
		case noFiles:
			w.noFiles += c.Add
		case noPorts:
			w.noPorts += c.Add
		case planned:
			of(u).planned += c.Add
		case dropped:
			of(u).dropped += c.Add
		case done:
			of(u).done += c.Add
		}
	}
	for _, g := range b.Gauges {
		u := e.uses[g.Metric]
		if u.role == none {
			continue
		}
		for len(e.gauges) <= int(u.of) {
			e.gauges = append(e.gauges, gauges{})
		}
		switch last := &e.gauges[u.of]; u.role {
		case active:
			last.active = g.Value
		case behind:
			last.behind = g.Value
		case usersBehind:
			last.usersBehind = g.Value
		}
	}
	for i, h := range b.Histograms {
		u := e.uses[h.Metric]
		if counts[i].Count() == 0 {
			continue
		}
		switch u.role {
		case figure:
			w.values[u.of], w.known[u.of] = max(w.values[u.of], float64(counts[i].Max())), true
		case delayed:
			w.own[u.of] += counts[i].Sum()
		case least:
			w.own[u.of] -= counts[i].Sum()
		case lag:
			hs.count(&of(u).lag, &counts[i])
		case response:
			hs.count(&of(u).response, &counts[i])
		}
	}
}

// count adds s to a histogram of a window; a nil one is created, or reused from a judged
// window.
func (hs *hosts) count(to **hdr.Histogram, s *hdr.Sparse) {
	if n := len(hs.spare); *to == nil && n > 0 {
		*to, hs.spare = hs.spare[n-1], hs.spare[:n-1]
	} else if *to == nil {
		*to = new(hdr.Histogram)
	}
	(*to).Add(s)
}

// recycle empties the histograms of a judged window, which must not be used any more, and
// stores them for reuse, as long as there are fewer than maxSpare.
func (hs *hosts) recycle(w *window) {
	for _, l := range w.loads {
		for _, h := range []*hdr.Histogram{l.lag, l.response} {
			if h != nil && len(hs.spare) < maxSpare {
				h.Reset()
				hs.spare = append(hs.spare, h)
			}
		}
	}
}

// maxSpare is how many histograms are stored for reuse.
const maxSpare = 8

// windowOf converts a host's complete window to the form that the judge of the generator's
// health takes: figures that were recorded, and classes sorted by name. Classes that have
// not declared their active users, and gauges of lost executors, are left out.
func (hs *hosts) windowOf(h *host, w *window) *health.Window {
	out := &health.Window{From: time.Duration(w.from), Length: time.Duration(w.to - w.from), Warmup: w.warmup, NoFiles: w.noFiles, NoPorts: w.noPorts, Own: time.Duration(max(0, w.own[0], w.own[1])), Values: map[health.Metric]float64{}}
	for m, v := range w.values {
		if w.known[m] {
			out.Values[health.Metric(m)] = v
		}
	}
	for n, c := range h.classes {
		if !c.declared {
			continue
		}
		var of load
		if n < len(w.loads) {
			of = w.loads[n]
		}
		var now gauges
		for _, e := range h.executors {
			if x := hs.executors[e]; n < len(x.gauges) && !hs.merger.Lost(e) {
				now.active += x.gauges[n].active
				now.behind += x.gauges[n].behind
				now.usersBehind += x.gauges[n].usersBehind
			}
		}
		l := health.Load{Class: c.name, Planned: of.planned, Behind: now.behind, Dropped: of.dropped, Done: of.done}
		if of.lag != nil {
			at := func(q float64) time.Duration { return time.Duration(of.lag.Quantile(q)) }
			l.Starts, l.P50, l.P90, l.P99 = int64(of.lag.Count()), at(0.5), at(0.9), at(0.99)
		}
		if of.response != nil {
			l.Response = time.Duration(of.response.Quantile(0.5))
		}
		if c.users {
			l.Planned, l.Behind = l.Starts, now.usersBehind
		}
		if c.open {
			l.Pool = now.active
		} else {
			l.Users = now.active
		}
		out.Loads = append(out.Loads, l)
	}
	slices.SortFunc(out.Loads, func(a, b health.Load) int { return cmp.Compare(a.Class, b.Class) })
	return out
}
