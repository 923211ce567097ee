package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// bareUsers are the users of a bare loop; check before use.
type bareUsers struct {
	target string        // ADDRESS:PORT, of IPv4; check does not check it
	users  int           // each with a connection of its own
	every  time.Duration // the pause after an answer; 0: no pause
	during time.Duration // from when all are connected
}

// bareLoop is the result of the second half of a bare loop, as bench -bare prints it. CPU
// is the time of the loop's thread in microseconds.
type bareLoop struct {
	Rate float64 `json:"requests_per_second"`
	CPU  float64 `json:"cpu_us"` // per request
}

// readBare parses what bench -bare prints. It returns an error for text that is no JSON, or if
// a figure is missing or not above 0. With an error the figures must not be used.
func readBare(out []byte) (l bareLoop, err error) {
	if err = json.Unmarshal(out, &l); err == nil && (l.Rate <= 0 || l.CPU <= 0) {
		err = errors.New("a bare loop asked nothing")
	}
	return l, err
}

// bare runs this program as a bare loop on the CPUs at.client, in a separate process, one to
// three times, and returns the medians: microseconds of CPU per request, and requests per
// second. Its target is srv, not u's, and its time whole seconds. The first run that fails, as
// when ctx ends, ends it with its error.
func (b *bench) bare(ctx context.Context, srv *nginx, at place, u bareUsers) (cpu, rate float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	seconds := int(u.during.Seconds())
	args := []string{self, "-bare", srv.addr, "-users", strconv.Itoa(u.users), "-every", u.every.String(), "-seconds", strconv.Itoa(seconds)}
	var per, rates []float64
	for range min(3, b.pairs) {
		took, err := measure(ctx, job{args: args, cpus: at.client, limit: limitOf(seconds)})
		if err != nil {
			return 0, 0, err
		}
		l, err := readBare(took.stdout)
		if err != nil {
			return 0, 0, &failure{args, err, took.stdout, took.stderr}
		}
		per, rates = append(per, l.CPU), append(rates, l.Rate)
		b.logf("%s, bare, %d users: %.0f/s, %.2f us/request", at.name, u.users, l.Rate, l.CPU)
	}
	return median(per), median(rates), nil
}

// check returns an error unless there is at least one user, no negative pause, and a time of
// at least a second. It does not check target.
func (u bareUsers) check() error {
	if u.users < 1 || u.every < 0 || u.during < time.Second {
		return fmt.Errorf("-users %d, -every %v, -seconds %.0f: want 1 or more, 0 or more, and 1 or more", u.users, u.every, u.during.Seconds())
	}
	return nil
}
