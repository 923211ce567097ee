package monitor

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// ofFigures returns the notes on a result that depend on its figures only.
func ofFigures(r *run.Result) []string { return append(noAnswer(r), basis(r)...) }

// basis returns notes on how much a result's figures can be relied on; nil without any.
func basis(r *run.Result) (notes []string) {
	add := func(s string) {
		if s != "" {
			notes = append(notes, s)
		}
	}
	switch measured := r.Measured; {
	case r.Warmup > 0 && measured <= 0:
		add("the whole run was warm-up: nothing is in the totals, and there is no verdict")
	case measured < 3*r.Config.Interval:
		add("the run was shorter than three intervals: its series and its verdict rest on little")
	}
	add(fewSamples(r))
	for _, c := range r.Config.Classes {
		add(fastFailures(c.Name, r.Metrics))
		add(tooFewUsers(c, r.Metrics))
	}
	return notes
}

// tooFewUsers describes a schedule that class c's users can't keep at the time that their iterations
// take, by Little's law; "" if they can, or if few starts waited for one.
func tooFewUsers(c run.Class, metrics []run.Metric) string {
	planned, late, begun := find(metrics, run.ClassPlanned, c.Name), find(metrics, run.ClassLate, c.Name), find(metrics, run.ClassBegun, c.Name)
	service := find(metrics, run.ClassService, c.Name)
	if planned.RPS == nil || service.Times == nil || late.Count == nil || begun.Count == nil || *planned.Count == 0 {
		return ""
	}
	wanted, can := *planned.RPS, float64(c.Users)/(service.Times.Avg/1000)
	kept := *begun.Count - *late.Count // that found a user free
	if can >= 1.05*wanted || 10*kept > 9**planned.Count {
		return ""
	}
	return fmt.Sprintf("the %s users of class %s were busy: at %s an iteration they do %s a second, and %s were wanted: with -c %.0f (Nu in a scenario) or more they keep up, unless iterations then take longer, which is a limit of the target",
		units.Count(int64(c.Users)), c.Name, units.Millis(service.Times.Avg), units.Rate(can), units.Rate(wanted), math.Ceil(1.05*wanted*service.Times.Avg/1000))
}

// notes returns what a reader of a run's numbers should know that lowers no verdict. r must
// have its figures. It returns nil without any.
func (t *Tally) notes(r *run.Result) []string {
	notes := basis(r)
	add := func(s string) { notes = append(notes, s) }
	for _, s := range t.hosts.notes() {
		add(s)
	}
	if onThisMachine(r.Config.Target, net.InterfaceAddrs) {
		add("the target is on this machine: it and gobench share the CPUs")
	}
	if others, name := t.hosts.others(); others > 0.2 {
		whose := "this machine's"
		if len(t.hosts.all) > 1 {
			whose = name + "'s"
		}
		add(fmt.Sprintf("other processes, the target among them if it is here, used %.0f %% of %s CPUs", others*100, whose))
	}
	return notes
}

// How many values the 99th and the 99.9th percentile need (reliability by order statistics:
// ten values beyond them).
const (
	enoughP99  = 1000
	enoughP999 = 10_000
)

// fewSamples returns a note that names the distributions of times whose high percentiles
// depend on few values: those of clients, response times under a schedule, and iterations
// if no client measured a time. It returns "" if all have enough.
func fewSamples(r *run.Result) string {
	var few, some []string
	look := func(m run.Metric) {
		switch {
		case *m.Count < enoughP99:
			few = append(few, m.Title)
		case *m.Count < enoughP999:
			some = append(some, m.Title)
		}
	}
	clients, leading := false, run.Leading(r.Metrics)
	for _, m := range r.Metrics {
		if m.Times != nil && leading[m.Title] {
			clients = true
			look(m)
		}
	}
	for _, c := range r.Config.Classes {
		switch m := find(r.Metrics, run.ClassResponse, c.Name); {
		case m.Times == nil || c.Closed && clients:
		case c.Closed:
			look(find(r.Metrics, run.ClassService, c.Name)) // the same, under the name that the report shows
		default:
			look(m)
		}
	}
	var parts []string
	if len(few) > 0 {
		parts = append(parts, "under 1,000 for a firm p99: "+several(few))
	}
	if len(some) > 0 {
		parts = append(parts, "under 10,000 for a firm p99.9: "+several(some))
	}
	if len(parts) == 0 {
		return ""
	}
	return "few values, " + strings.Join(parts, "; ")
}

// several returns at most three titles, as "A, B, C and 2 more".
func several(titles []string) string {
	if len(titles) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(titles[:3], ", "), len(titles)-3)
	}
	return strings.Join(titles, ", ")
}

// fastFailures returns a note if a class's failed iterations took less than half as long
// (median) as its good ones; "" if not, or with fewer than ten failed ones.
func fastFailures(class string, metrics []run.Metric) string {
	bad, good := find(metrics, run.ClassFailure, class), find(metrics, run.ClassService, class)
	if bad.Times == nil || good.Times == nil || *bad.Count < enoughFailures || !(bad.Times.P50 < good.Times.P50/2) { // also without a value
		return ""
	}
	return fmt.Sprintf("failed iterations of class %s ended sooner than good ones, after %s instead of %s (medians): they are in no response time, but iterations a second have them", class, units.Millis(float64(bad.Times.P50)), units.Millis(float64(good.Times.P50)))
}

// enoughFailures is how many have a meaningful median.
const enoughFailures = 10

// find returns the metric of a role of a class, or a zero Metric.
func find(metrics []run.Metric, role run.Role, class string) run.Metric {
	if m := run.Find(metrics, run.Counts{Role: role, Of: class}); m != nil {
		return *m
	}
	return run.Metric{}
}

// onThisMachine reports whether a built-in's target, "GET http://...", is one of this
// machine's own addresses; false for other texts. own returns those addresses; if it fails,
// only loopback counts. It resolves no names: of these only localhost counts.
func onThisMachine(target string, own func() ([]net.Addr, error)) bool {
	_, address, _ := strings.Cut(target, " ")
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() == "localhost" || ip.IsLoopback() {
		return true
	}
	addresses, _ := own() // without them only loopback is recognized
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && ip != nil && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
