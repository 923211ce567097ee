package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	domain "github.com/gobench-io/gobench/internal/run"
)

// gobench is built from this tree into the cache.
var gobench = &peer{
	name:    "gobench",
	install: installGobench,
	read: func(_ usage, file string) (outcome, error) {
		r, err := readResult(file)
		if err != nil {
			return outcome{}, err
		}
		return gobenchOutcome(r)
	},
}

// installGobench builds gobench from this tree into the cache, each time it is called. Its
// runs have a history of their own there. The version is the commit, or "gobench, this
// tree" if git has none. The error is that of the build, a *failure.
func installGobench(ctx context.Context, b *bench) (installed, error) {
	in := installed{
		version: "gobench, this tree",
		command: []string{filepath.Join(b.cache, "gobench")},
		env:     []string{"XDG_DATA_HOME=" + filepath.Join(b.cache, "data")}, // with its own history of runs
	}
	b.logf("go build -o %s .", in.command[0])
	if _, err := output(ctx, b.root, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", in.command[0], "."); err != nil {
		return in, err
	}
	if commit, err := output(ctx, b.root, nil, "git", "describe", "--always", "--dirty", "--tags"); err == nil {
		in.version = "gobench " + strings.TrimSpace(string(commit)) // without git or a repository, the tree has no version
	}
	return in, nil
}

// readResult reads the file that gobench writes with -o. The error is that of readJSON;
// the result is then not usable.
func readResult(file string) (*domain.Result, error) {
	r := new(domain.Result)
	return r, readJSON(file, r)
}

// steadyRate returns the requests per second from the half to four fifths of a run's
// series, as child.steady does, of the file that gobench wrote with -o. It returns an
// error if there were no requests.
func steadyRate(file string) (float64, error) {
	var r struct {
		Intervals []domain.Interval `json:"intervals"`
	}
	if err := readJSON(file, &r); err != nil {
		return 0, err
	}
	var requests, seconds float64
	for _, i := range r.Intervals[len(r.Intervals)/2 : len(r.Intervals)*4/5] {
		seconds += i.Seconds
		if ok := i.Metrics["http.http_ok"]; ok.Count != nil {
			requests += float64(*ok.Count)
		}
	}
	if requests == 0 {
		return 0, errors.New("gobench: no requests in the middle of its series")
	}
	return requests / seconds, nil
}

// gobenchOutcome returns a result's figures on its requests, those that it lacks as untold,
// but failed as 0. It returns an error for a result that is not complete, took no time, or
// has no count of requests. The title of a metric begins with the prefix of its client,
// which is http in all of bench's loads, as is the class of users.
func gobenchOutcome(r *domain.Result) (outcome, error) {
	ok := find(r, "http.http_ok")
	switch {
	case ok.Count == nil:
		return outcome{}, errors.New("gobench: no count of http.http_ok in its result")
	case !r.Complete:
		return outcome{}, errors.New("gobench: its result is not complete")
	case r.Seconds <= 0:
		return outcome{}, errors.New("gobench: its result took no time")
	}
	o := outcome{requests: float64(*ok.Count), dropped: untold, latency: silent}
	o.rate = o.requests / r.Seconds
	for _, title := range []string{"http.http_fail", "http.http_other_fail"} {
		if m := find(r, title); m.Count != nil {
			o.failed += float64(*m.Count)
		}
	}
	if m := find(r, "vu.http.dropped"); m.Count != nil {
		o.dropped = float64(*m.Count)
	}
	if t := find(r, "vu.http.response").Times; t != nil {
		o.latency = latency{float64(t.P50), float64(t.P99), t.Max}
	}
	return o, nil
}

// find returns the metric of this title, or an empty one, whose Count and Times are nil.
func find(r *domain.Result, title string) domain.Metric {
	for _, m := range r.Metrics {
		if m.Title == title {
			return m
		}
	}
	return domain.Metric{}
}
