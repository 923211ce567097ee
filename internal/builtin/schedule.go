package builtin

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run"
)

// maxRate is the greatest rate of a schedule, a second.
const maxRate = 10_000_000

// ParseStages parses stages as RATE/TIME, with rates from 0 to maxRate a second. For the first
// wrong one it returns a *run.UsageError, and then no stages.
func ParseStages(texts []string) (stages []scenario.Rate, err error) {
	for _, text := range texts {
		to, over, ok := strings.Cut(text, "/")
		s := scenario.Rate{}
		if s.To, err = strconv.ParseFloat(to, 64); !ok || err != nil || !(s.To >= 0 && s.To <= maxRate) {
			return nil, run.Usage("write it as --stage 500/30s", "--stage %q: want a rate of 0 to %d, a slash and a time", text, maxRate)
		}
		if s.Over, err = time.ParseDuration(over); err != nil || s.Over < 0 {
			return nil, run.Usage("write it as --stage 500/30s", "--stage %q: %q is no time", text, over)
		}
		stages = append(stages, s)
	}
	if len(stages) > 0 && !slices.ContainsFunc(stages, func(s scenario.Rate) bool { return s.To > 0 && s.Over > 0 }) {
		return nil, run.Usage("write it as --stage 500/30s", "no --stage has a rate and a time above 0")
	}
	return stages, nil
}

// ParseRate returns the rate a second of a text such as 50, 50/s, 50/1s or 3000/1m. It returns
// an error unless it is above 0 and at most maxRate.
func ParseRate(s string) (float64, error) {
	number, per, timed := strings.Cut(s, "/")
	n, err := strconv.ParseFloat(number, 64)
	length := time.Second
	if err == nil && timed {
		if per != "" && (per[0] < '0' || per[0] > '9') {
			per = "1" + per
		}
		if length, err = time.ParseDuration(per); err == nil && length <= 0 {
			err = errors.New("not above 0")
		}
	}
	if n /= length.Seconds(); err != nil || !(n > 0 && n <= maxRate) {
		return 0, fmt.Errorf("want the requests a second, above 0 to %d, as 500 or 3000/1m", maxRate)
	}
	return n, nil
}
