package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// hosts are the machines that generate a run's load. Each is judged by what its own
// executors recorded, so that the others do not hide one that is too slow. Judging a host
// needs only a small part of its metrics; with a thousand hosts no more than that may be
// merged for each.
type hosts struct {
	merger    *merge.Merger // of the run
	all       []*host
	executors []*executor
	spare     []*hdr.Histogram // empty
}

// Host is a machine that generates load. Several may have the same name.
type Host struct{ ID, Name string }

// host is one of the hosts.
type host struct {
	Host
	judge     health.Judge
	executors []int
	classes   []class
	windows   []*window                         // incomplete ones, by time
	judged    int64                             // windows that begin before it were judged, ns
	levels    map[int64]map[string]run.Severity // of windows whose interval has not been returned yet, by begin
}

// executor is an executor as its host's judge sees it.
type executor struct {
	host   *host
	seq    uint64
	uses   []use    // by the executor's own numbers of metrics
	gauges []gauges // by the host's class numbers; may be shorter than the classes
}

// join adds the run's next executor, to the host of that id or a new one. merger may already
// have metrics and batches of it.
func (hs *hosts) join(on Host) {
	i := slices.IndexFunc(hs.all, func(h *host) bool { return h.ID == on.ID })
	if i < 0 {
		i = len(hs.all)
		hs.all = append(hs.all, &host{Host: on, levels: map[int64]map[string]run.Severity{}})
	}
	h, number := hs.all[i], len(hs.executors)
	e := &executor{host: h}
	hs.executors = append(hs.executors, e)
	h.executors = append(h.executors, number)
	if number < hs.merger.Executors() {
		e.seq, _ = hs.merger.Seq(number)
		hs.declare(number)
	}
}

// declare adds to e.uses those of the metrics that an executor, which the merger must have,
// has declared since the last call.
func (hs *hosts) declare(number int) {
	e := hs.executors[number]
	for _, m := range hs.merger.DeclaredBy(number, len(e.uses)) {
		e.uses = append(e.uses, e.host.useOf(m))
	}
}

// take adds the batch that the run's merger has just merged, and judges the windows of its
// host that are now complete. It does nothing for a batch that was redelivered; one that
// comes after its window was judged only adds its metrics.
func (hs *hosts) take(number int, b *wire.Batch) {
	e := hs.executors[number]
	if b.Seq <= e.seq {
		return // redelivered
	}
	e.seq = b.Seq
	hs.declare(number)
	if h := e.host; b.FromNs >= h.judged { // else its window was judged without it
		hs.add(h.window(b), e, b, hs.merger.Decoded())
		hs.judgeWhole(h, false)
	}
}

// window returns the window that begins when b does, creating it if needed, and extends it
// to b's end. Executors cut at the same times.
func (h *host) window(b *wire.Batch) *window {
	i, found := slices.BinarySearchFunc(h.windows, b.FromNs, func(w *window, from int64) int { return cmp.Compare(w.from, from) })
	if !found {
		h.windows = slices.Insert(h.windows, i, &window{from: b.FromNs, warmup: b.InWarmup()})
	}
	h.windows[i].to = max(h.windows[i].to, b.ToNs)
	return h.windows[i]
}

// judgeWhole judges and removes the windows that all executors of a host have reported;
// with all true, the incomplete ones too. Executors that are lost or have sent their last
// batch are not waited for. It stores the levels for judge.
func (hs *hosts) judgeWhole(h *host, all bool) {
	until := int64(math.MaxInt64)
	for _, e := range h.executors {
		if to, awaited := hs.merger.Reported(e); awaited && !all {
			until = min(until, int64(to))
		}
	}
	for len(h.windows) > 0 && h.windows[0].from < until {
		w := h.windows[0]
		h.windows, h.judged = h.windows[1:], w.from+1
		if levels := h.judge.Add(hs.windowOf(h, w)); levels != nil {
			h.levels[w.from] = levels
		}
		hs.recycle(w)
	}
}

// judge returns, once, the worst level of each signal over all hosts in an interval of the
// whole run and in earlier windows that it has not returned yet; nil if all are fine. With
// all true it first judges incomplete windows too.
func (hs *hosts) judge(i run.Interval, all bool) map[string]run.Severity {
	var worst map[string]run.Severity
	for _, h := range hs.all {
		hs.judgeWhole(h, all)
		for from, levels := range h.levels {
			if time.Duration(from).Seconds() > i.From {
				continue
			}
			delete(h.levels, from)
			for signal, level := range levels {
				if worst == nil {
					worst = map[string]run.Severity{}
				}
				worst[signal] = max(worst[signal], level)
			}
		}
	}
	return worst
}

// reasons returns what disturbed the hosts, what did most first, each with "on HOST: " if there are
// several.
func (hs *hosts) reasons() (all []run.Reason) {
	if len(hs.all) == 1 {
		return hs.all[0].judge.Reasons()
	}
	var own float64
	for _, h := range hs.all {
		own += float64(h.judge.Own())
	}
	for _, h := range hs.all {
		for _, r := range h.judge.Reasons() {
			r.Text = "on " + h.Name + ": " + r.Text
			r.Share *= float64(h.judge.Own()) / max(own, 1)
			all = append(all, r)
		}
	}
	health.SortReasons(all)
	return all
}

// notes returns what the judges noted that lowers no verdict, by host; with several hosts,
// each begins with "on HOST: ". It returns nil without any.
func (hs *hosts) notes() (notes []string) {
	for _, h := range hs.all {
		for _, s := range h.judge.Notes() {
			if len(hs.all) > 1 {
				s = "on " + h.Name + ": " + s
			}
			notes = append(notes, s)
		}
	}
	return notes
}

// others returns the greatest share, 0 to 1, of a host's CPUs that other processes used on
// average over its windows so far (see health.Judge.Others), and the host's name; 0 and ""
// if unknown or none.
func (hs *hosts) others() (share float64, name string) {
	for _, h := range hs.all {
		if o := h.judge.Others(); o > share {
			share, name = o, h.Name
		}
	}
	return share, name
}

// uneven returns a note on the host that did more than 1.2 times as many iterations of a class,
// those of a warm-up included, as another for its users of it; "" if all did about the same,
// did fewer than ten, or fewer than two hosts have users of the class. Hosts of a lost executor
// are not compared. users are by class and the host's id; nil if they are not known.
func (hs *hosts) uneven(users map[string]map[string]int64) string {
	for _, class := range slices.Sorted(maps.Keys(users)) {
		var least, most *host
		var low, high, done float64
		for _, h := range hs.all {
			n := users[class][h.ID]
			if n == 0 || slices.ContainsFunc(h.executors, hs.merger.Lost) {
				continue
			}
			all := int64(0)
			for _, e := range h.executors {
				all += hs.merger.CountOf(e, run.Counts{Role: run.ClassDone, Of: class})
			}
			pace := float64(all) / float64(n)
			if least == nil || pace < low {
				least, low = h, pace
			}
			if most == nil || pace > high {
				most, high, done = h, pace, float64(all)
			}
		}
		if least != most && done >= enoughFailures && low*maxUneven < high {
			return fmt.Sprintf("the load was uneven: for its share of it, %s did %.1f times as many iterations as %s", most.Name, high/max(low, 1), least.Name)
		}
	}
	return ""
}

// maxUneven is by how much hosts may differ before it is noted.
const maxUneven = 1.2
