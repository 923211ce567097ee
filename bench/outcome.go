package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// An outcome is what a tool reports about its run. dropped, and the fields of latency, are
// untold if the tool does not print them.
type outcome struct {
	requests float64 // answered
	rate     float64 // requests per second, by the tool's own clock
	failed   float64 // requests without the expected answer
	dropped  float64 // requests that were due and dropped
	latency
}

// A latency is a tool's report of its response times, in milliseconds.
type latency struct{ p50, p99, max float64 }

// untold is a figure that the tool does not print.
const untold = -1

// silent is the latency of a tool that prints none of it.
var silent = latency{untold, untold, untold}

// number returns the first group of re, which must have one, in out as a number; false if re
// does not match, or the group is no number.
func number(out string, re *regexp.Regexp) (float64, bool) {
	m := re.FindStringSubmatch(out)
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	return x, err == nil
}

// atof parses a number that a regular expression has matched; 0 for text that is no
// number.
func atof(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64)
	return x
}

// count returns the first group of re, which must have one, in out as a number, 0 if re does
// not match: tools leave out lines with a count of 0.
func count(out string, re *regexp.Regexp) float64 {
	x, _ := number(out, re)
	return x
}

// millis returns the first group of re, which must have one, in out, a time with its unit such
// as 1.71ms, in milliseconds; untold if re does not match or the group is no such time.
func millis(out string, re *regexp.Regexp) float64 {
	if m := re.FindStringSubmatch(out); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			return float64(d) / float64(time.Millisecond)
		}
	}
	return untold
}

// readJSON decodes a JSON file that a tool wrote into the value that into points to, which may
// be partly set on an error. The error wraps fs.ErrNotExist if the tool wrote none.
func readJSON(name string, into any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
