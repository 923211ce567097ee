package meter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/run"
)

// Decl is a declared metric with its place in the hierarchy.
type Decl struct {
	Title string
	Type  metrics.Type
	Group string
	Graph string
	Unit  string
	run.Counts
}

func (d Decl) String() string {
	return fmt.Sprintf("%q, a %s in %s (graph %q of group %q)", d.Title, d.Type, d.Unit, d.Graph, d.Group)
}

// declared is all that a registry's users have declared. It is never changed once
// stored: a new declaration stores a changed copy.
type declared struct {
	groups  map[string]metrics.Group
	byTitle map[string]int // index into decls and metrics
	decls   []Decl
	metrics []*metric
	slots   [2]int      // number of counters and histograms so far
	beside  int         // of decls, companions of others
	to      *connection // of a connected registry
}

// Setup declares groups; it retains no slice of them. Usually they are declared already,
// since each user of a class declares them: that costs one map read a group and no lock. A
// known group may get new graphs; a graph stays as it was first declared, and a title has
// one type, unit and place in a run. If Setup returns an error, nothing was declared in r;
// the error of a second, different declaration names both. A connected registry has passed
// the groups on before it checks them.
func (r *Registry) Setup(groups []metrics.Group) error { return r.Declare(groups, nil) }

// Declare is Setup of metrics of which some have a role: counts is by title, and has no title
// that is not in groups. A metric's first declaration has its role.
func (r *Registry) Declare(groups []metrics.Group, counts map[string]run.Counts) error {
	if r.to != nil {
		if err := r.to.setup(groups); err != nil {
			return err
		}
	}
	if d := r.declared.Load(); d.has(groups, counts) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.declared.Load().clone()
	for _, g := range groups {
		if err := d.add(g, counts); err != nil {
			return err
		}
	}
	if err := d.agrees(counts); err != nil {
		return err
	}
	r.declared.Store(d)
	return nil
}

// Declared returns the declared metrics, in the order of their declaration.
func (r *Registry) Declared() []Decl { return slices.Clone(r.declared.Load().decls) }

// Find returns the meter of a declared title, or an error if it is not declared.
func (r *Registry) Find(title string) (Meter, error) {
	d := r.declared.Load()
	i, ok := d.byTitle[title]
	if !ok {
		return Meter{}, fmt.Errorf("metric %q is not declared: declare it with executor.Setup first", title)
	}
	return Meter{r, d.metrics[i]}, nil
}

// Notify records value under title in a phase: a counter adds it, a histogram counts it, a gauge is
// set to it. It looks the title up each time; Find is faster for repeated use. It returns
// an error if the title is not declared, or for a negative value of a counter or histogram,
// which it does not count as refused. In a connected registry it returns the error of
// notify.
func (r *Registry) Notify(p Phase, title string, value int64) error {
	if r.to != nil {
		return r.to.notify(title, value)
	}
	m, err := r.Find(title)
	if err != nil {
		return err
	}
	if value < 0 && m.m.kind != gauge {
		return fmt.Errorf("metric %q: %d is negative, and only a gauge takes a negative value", title, value)
	}
	m.RecordIn(p, value)
	return nil
}

// has reports whether all of groups are declared, each graph with the same unit and metrics,
// and all of counts.
func (d *declared) has(groups []metrics.Group, counts map[string]run.Counts) bool {
	for title, c := range counts {
		if i, ok := d.byTitle[title]; !ok || d.decls[i].Counts != c {
			return false
		}
	}
	for _, g := range groups {
		known, ok := d.groups[g.Name]
		if !ok {
			return false
		}
		for i, graph := range g.Graphs {
			if i < len(known.Graphs) && same(graph, known.Graphs[i]) {
				continue // the same client's own declaration, in its own order
			}
			if !slices.ContainsFunc(known.Graphs, func(k metrics.Graph) bool { return same(graph, k) }) {
				return false
			}
		}
	}
	return true
}

func same(a, b metrics.Graph) bool {
	return a.Title == b.Title && a.Unit == b.Unit && slices.Equal(a.Metrics, b.Metrics)
}

// agrees returns an error if a title of counts is not declared, or counts something else.
func (d *declared) agrees(counts map[string]run.Counts) error {
	for _, title := range slices.Sorted(maps.Keys(counts)) {
		switch i, ok := d.byTitle[title]; {
		case !ok:
			return fmt.Errorf("metric %q has the role %q and is not declared", title, counts[title].Role)
		case d.decls[i].Counts != counts[title]:
			return fmt.Errorf("metric %q is declared twice: first it counts %+v, now %+v", title, d.decls[i].Counts, counts[title])
		}
	}
	return nil
}

// clone returns a copy that add can change without changing d.
func (d *declared) clone() *declared {
	c := *d
	c.groups = make(map[string]metrics.Group, len(d.groups)+1)
	c.byTitle = make(map[string]int, len(d.byTitle)+8)
	maps.Copy(c.groups, d.groups)
	maps.Copy(c.byTitle, d.byTitle)
	c.decls, c.metrics = slices.Clip(d.decls), slices.Clip(d.metrics)
	return &c
}

// add declares a group, or the new graphs of a known one. If it returns an error, d may
// have part of it and must be thrown away.
func (d *declared) add(g metrics.Group, counts map[string]run.Counts) error {
	if err := checkName("a group's name", g.Name); err != nil {
		return err
	}
	known := d.groups[g.Name]
	known.Name = g.Name
	known.Graphs = slices.Clip(known.Graphs)
	for _, graph := range g.Graphs {
		if err := checkName(fmt.Sprintf("a graph's title in group %q", g.Name), graph.Title); err != nil {
			return err
		}
		if err := checkName(fmt.Sprintf("the unit of graph %q in group %q", graph.Title, g.Name), graph.Unit); err != nil {
			return err
		}
		at := slices.IndexFunc(known.Graphs, func(k metrics.Graph) bool { return k.Title == graph.Title })
		if at >= 0 && same(graph, known.Graphs[at]) {
			continue
		}
		for _, m := range graph.Metrics {
			if err := d.addMetric(Decl{m.Title, m.Type, g.Name, graph.Title, graph.Unit, counts[m.Title]}); err != nil {
				return err
			}
		}
		if at >= 0 {
			return fmt.Errorf("graph %q of group %q is declared twice: first with %s, now with %s",
				graph.Title, g.Name, list(known.Graphs[at]), list(graph))
		}
		graph.Metrics = slices.Clone(graph.Metrics)
		known.Graphs = append(known.Graphs, graph)
	}
	d.groups[g.Name] = known
	return nil
}

// addMetric declares a metric. It does nothing if the same is declared, and returns an
// error for another of that title, a bad name or type, or one beyond maxMetrics.
func (d *declared) addMetric(m Decl) error {
	if err := checkName(fmt.Sprintf("a metric's title in graph %q of group %q", m.Graph, m.Group), m.Title); err != nil {
		return err
	}
	if i, ok := d.byTitle[m.Title]; ok {
		known := d.decls[i]
		if known.Counts, m.Counts = (run.Counts{}), (run.Counts{}); known != m {
			return fmt.Errorf("metric declared twice: first %v, now %v; a title is unique in a run", known, m)
		}
		return nil // the graph differs elsewhere, and the caller reports that
	}
	if err := checkCounts(m); err != nil {
		return err
	}
	var k kind
	switch m.Type {
	case metrics.Counter:
		k = counter
	case metrics.Histogram:
		k = histogram
	case metrics.Gauge:
		k = gauge
	default:
		return fmt.Errorf("metric %q has type %q: want %s, %s or %s", m.Title, m.Type, metrics.Counter, metrics.Histogram, metrics.Gauge)
	}
	if len(d.decls)-d.beside == maxMetrics {
		return fmt.Errorf("metric %q is one too many: a run has at most %d", m.Title, maxMetrics)
	}
	made := &metric{kind: k}
	if d.to != nil {
		made = &metric{kind: connected, isGauge: k == gauge, title: m.Title, to: d.to}
	} else if k != gauge {
		made.slot = d.slots[k]
		d.slots[k]++
	}
	d.put(m, made)
	if d.to == nil {
		d.addCompanions(m, made)
	}
	return nil
}

// put adds a declaration and what records it.
func (d *declared) put(m Decl, made *metric) {
	d.byTitle[m.Title] = len(d.decls)
	d.decls = append(d.decls, m)
	d.metrics = append(d.metrics, made)
}

// addCompanions declares the two histograms beside m, if its role has some: TITLE_disturbed and
// TITLE_corrected. It declares none if one of the titles is in use.
func (d *declared) addCompanions(m Decl, made *metric) {
	disturbed, corrected, ok := m.Role.Companions()
	_, used := d.byTitle[m.Title+"_disturbed"]
	_, also := d.byTitle[m.Title+"_corrected"]
	if !ok || used || also {
		return
	}
	add := func(suffix string, r run.Role) *metric {
		beside := &metric{kind: histogram, slot: d.slots[histogram]}
		d.slots[histogram]++
		d.beside++
		d.put(Decl{m.Title + suffix, m.Type, m.Group, m.Graph + " (delayed by gobench)", m.Unit, m.Counts.As(r)}, beside)
		return beside
	}
	made.disturbed, made.corrected = add("_disturbed", disturbed), add("_corrected", corrected)
}

// checkCounts returns an error if m cannot count what it says.
func checkCounts(m Decl) error {
	c := m.Counts
	switch {
	case c == run.Counts{}:
		return nil
	case !c.Role.Fits(run.MetricType(m.Type)):
		return fmt.Errorf("metric %q is a %s, and cannot have the role %q", m.Title, m.Type, c.Role)
	case c.Of == "" && c.Role != run.Own:
		return fmt.Errorf("metric %q has the role %q, but not of what", m.Title, c.Role)
	case (c.Role == run.OpTime || c.Role == run.OpAge) && m.Unit != "ns":
		return fmt.Errorf("metric %q has the role %q in the unit %q: want ns", m.Title, c.Role, m.Unit)
	}
	return nil
}

// list returns a graph's unit and metrics for an error's text: 'unit "N" and a (counter), b
// (gauge)'.
func list(g metrics.Graph) string {
	var titles []string
	for _, m := range g.Metrics {
		titles = append(titles, fmt.Sprintf("%s (%s)", m.Title, m.Type))
	}
	return fmt.Sprintf("unit %q and %s", g.Unit, strings.Join(titles, ", "))
}

// checkName returns an error, in which what names the place, if s is empty, longer than
// maxTitle bytes, not UTF-8, or has characters that do not print.
func checkName(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > maxTitle:
		return fmt.Errorf("%s, which begins %.40q, has %d bytes: at most %d are allowed", what, s, len(s), maxTitle)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s has characters that do not print: %q", what, s)
	}
	return nil
}
