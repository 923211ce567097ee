package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// microPackages are those whose Go benchmarks are on the page.
var microPackages = []string{"internal/measure/hdr", "internal/measure/meter", "clients/http"}

// microLimits are the limits that the design sets for hot paths.
var microLimits = []struct {
	pkg   string
	name  *regexp.Regexp
	limit float64 // ns
}{
	{"internal/measure/hdr", regexp.MustCompile(`^Record$`), 5},
	{"internal/measure/hdr", regexp.MustCompile(`^Merge$`), 2000},
	{"internal/measure/meter", regexp.MustCompile(`^Record`), 12},
}

// microTable runs the Go benchmarks of the hot packages, b.pairs times each, with go test,
// for at most 15 minutes. A benchmark whose median exceeds its limit is marked "(over)",
// which is no error. See table for errors.
func microTable(ctx context.Context, b *bench) (*section, error) {
	args := []string{"go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", "200ms", "-count", strconv.Itoa(b.pairs)}
	found := false
	for _, pkg := range microPackages {
		if tests, _ := filepath.Glob(filepath.Join(b.root, pkg, "*_test.go")); len(tests) > 0 {
			args, found = append(args, "./"+pkg), true
		}
	}
	if !found {
		return nil, fmt.Errorf("none of %v has tests", microPackages)
	}
	b.logf("%s", strings.Join(args, " "))
	out, err := output(ctx, b.root, nil, args...)
	if err != nil {
		return nil, err
	}
	g := grid{head: []string{"benchmark", "median ns", "min", "max", "B", "allocs", "limit ns"}}
	for _, m := range parseGoBench(out) {
		i := medianInterval(m.ns, 1)
		limit := ""
		for _, l := range microLimits {
			if l.pkg == m.pkg && l.name.MatchString(m.name) {
				limit = fmt.Sprintf("%.0f", l.limit)
				if median(m.ns) > l.limit {
					limit += " (over)"
				}
			}
		}
		g.rows = append(g.rows, []string{m.pkg + " " + m.name, figure(median(m.ns)), figure(i.Lo), figure(i.Hi),
			fmt.Sprintf("%.0f", m.bytes), fmt.Sprintf("%.0f", m.allocs), limit})
	}
	return &section{
		title:    "Hot paths: Go benchmarks",
		text:     []string{fmt.Sprintf("%d runs each; the limit is the design's.", b.pairs)},
		grids:    []grid{g},
		commands: []string{strings.Join(args, " ")},
	}, nil
}

// figure formats a number with two decimals below 10, one below 100 and else none, never
// with an exponent.
func figure(ns float64) string {
	switch {
	case ns < 10:
		return fmt.Sprintf("%.2f", ns)
	case ns < 100:
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

// figureIf is like figure, but returns an empty text for untold.
func figureIf(x float64) string {
	if x == untold {
		return ""
	}
	return figure(x)
}

// A microResult is one Go benchmark over its runs.
type microResult struct {
	pkg    string // without the module's path
	name   string // without Benchmark and from its last hyphen on, the number of CPUs
	ns     []float64
	bytes  float64 // of the last run, like allocs
	allocs float64
}

// parseGoBench reads the lines of go test -bench and returns one result per package and
// benchmark, in the order of their first lines. It skips lines that it can't parse.
func parseGoBench(out []byte) (all []*microResult) {
	pkg := ""
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		if p, ok := strings.CutPrefix(sc.Text(), "pkg: "); ok {
			pkg = strings.TrimPrefix(p, "github.com/gobench-io/gobench/")
			continue
		}
		f := strings.Fields(sc.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(f[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		at := slices.IndexFunc(all, func(m *microResult) bool { return m.pkg == pkg && m.name == name })
		if at < 0 {
			at = len(all)
			all = append(all, &microResult{pkg: pkg, name: name})
		}
		m := all[at]
		for i := 2; i+1 < len(f); i += 2 { // value unit, value unit, ...
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				break
			}
			switch f[i+1] {
			case "ns/op":
				m.ns = append(m.ns, x)
			case "B/op":
				m.bytes = x
			case "allocs/op":
				m.allocs = x
			}
		}
	}
	return all
}
