package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// artillery runs users on Node; load/artillery.yml is its closed load.
var artillery = &peer{name: "artillery", install: installArtillery, read: func(u usage, _ string) (outcome, error) { return parseArtillery(string(u.stdout)) }}

const artilleryVersion = "2.0.21"

// installArtillery installs Artillery from npm into the cache, unless this version is there
// already. A file complete marks a complete installation; an incomplete one is repeated in
// place. The first step that fails, as when ctx ends, ends it with its error.
func installArtillery(ctx context.Context, b *bench) (installed, error) {
	dir := filepath.Join(b.cache, "artillery@"+artilleryVersion)
	in := installed{
		version: "Artillery " + artilleryVersion,
		command: []string{"node", filepath.Join(dir, "node_modules", "artillery", "bin", "run")},
		env:     []string{"ARTILLERY_DISABLE_TELEMETRY=true"},
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return in, nil
	}
	if err := b.debian(ctx, "node:nodejs", "npm:npm"); err != nil {
		return in, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return in, err
	}
	b.logf("npm install artillery@%s", artilleryVersion)
	if err := b.watched(ctx, 10*time.Minute, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "artillery@"+artilleryVersion); err != nil {
		return in, err
	}
	return in, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644)
}

var (
	artilleryReport = regexp.MustCompile(`(?s)Summary report.*`)
	artilleryOK     = regexp.MustCompile(`(?m)^http\.codes\.2\d\d: \.* *(\d+)`)
	artilleryAll    = regexp.MustCompile(`(?m)^http\.responses: \.* *(\d+)`)
	artilleryErrors = regexp.MustCompile(`(?m)^errors\.\S+: \.* *(\d+)`)
	artilleryRate   = regexp.MustCompile(`(?m)^http\.request_rate: \.* *([\d.]+)/sec`)
	artilleryTimes  = regexp.MustCompile(`(?m)^http\.response_time:\n(?:  .*\n)*`)
	artilleryP50    = regexp.MustCompile(`(?m)^  median: \.* *([\d.]+)`)
	artilleryP99    = regexp.MustCompile(`(?m)^  p99: \.* *([\d.]+)`)
	artilleryMax    = regexp.MustCompile(`(?m)^  max: \.* *([\d.]+)`)
)

// parseArtillery reads the report that Artillery prints at its end. Statuses other than the
// first 2xx that is listed and requests without a response count as failed, the latter not as
// requests. It returns an error without a report.
func parseArtillery(out string) (outcome, error) {
	report := artilleryReport.FindString(out)
	rate, ok := number(report, artilleryRate)
	if !ok {
		return outcome{}, errors.New("artillery: no summary report in its output")
	}
	n := count(report, artilleryAll)
	o := outcome{requests: n, rate: rate, failed: n - count(report, artilleryOK), dropped: untold, latency: silent}
	for _, m := range artilleryErrors.FindAllStringSubmatch(report, -1) {
		o.failed += atof(m[1])
	}
	times := artilleryTimes.FindString(report)
	for at, re := range map[*float64]*regexp.Regexp{&o.p50: artilleryP50, &o.p99: artilleryP99, &o.max: artilleryMax} {
		if x, ok := number(times, re); ok {
			*at = x
		}
	}
	return o, nil
}
