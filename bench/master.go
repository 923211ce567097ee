package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	domain "github.com/gobench-io/gobench/internal/run"
)

// A daemon is a process of gobench that runs until it is stopped: a master or an agent.
// done receives the result of its Wait once.
type daemon struct {
	cmd  *exec.Cmd
	log  *os.File
	done chan error
}

// startDaemon starts gobench on the given CPUs (empty: ours) with env in addition to ours;
// its output is in the file log in dir, which must exist. It does not wait until it is
// ready. The caller must call stop, and remove dir.
func startDaemon(bin, dir string, cpus []int, env []string, args ...string) (*daemon, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	d := &daemon{log: log, done: make(chan error, 1)}
	d.cmd = exec.Command(bin, args...)
	d.cmd.Env = append(os.Environ(), env...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := pinned(cpus, d.cmd.Start); err != nil {
		log.Close()
		return nil, err
	}
	go func() { d.done <- d.cmd.Wait() }()
	return d, nil
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// failed returns err as a *failure with the daemon's command line and its log so far; none
// once that is removed.
func (d *daemon) failed(err error) error {
	said, _ := os.ReadFile(d.log.Name())
	return &failure{args: d.cmd.Args, why: err, stderr: said}
}

// stop sends SIGTERM, waits until the daemon has ended, after 25 s kills it, and closes
// the log. Call it once.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.done:
	case <-time.After(25 * time.Second): // it waits for its run
		_ = d.cmd.Process.Kill()
		<-d.done
	}
	d.log.Close()
}

// A testMaster is a master with its own directory and without an agent. The caller must
// call stop. Its methods that send requests are for one admin, who is logged in.
type testMaster struct {
	*daemon
	url  string
	dir  string
	http *http.Client
}

// startMaster starts a master on the given CPUs (empty: ours) in a new temporary directory,
// and logs in, for which it waits at most a minute. If that fails, or ctx ends, the error is a
// *failure with the log, and nothing is left running. The caller must call stop.
func startMaster(ctx context.Context, bin string, cpus []int) (*testMaster, error) {
	dir, err := os.MkdirTemp("", "gobench-bench-master-")
	if err != nil {
		return nil, err
	}
	api, err := freeAddr()
	if err != nil {
		return nil, err
	}
	agents, err := freeAddr()
	if err != nil {
		return nil, err
	}
	const password = "a password for the bench"
	m := &testMaster{url: "http://" + api, dir: dir}
	if m.daemon, err = startDaemon(bin, dir, cpus, []string{"GOBENCH_ADMIN_PASSWORD=" + password, "GOBENCH_NO_WARM=1"},
		"serve", "--no-agent", "--dir", dir, "--addr", api, "--agent-addr", agents); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	jar, _ := cookiejar.New(nil)
	m.http = &http.Client{Jar: jar, Timeout: 30 * time.Second}
	err = m.until(ctx, time.Minute, func() error {
		return m.do(ctx, "POST", "/login", map[string]string{"name": "admin", "password": password}, nil)
	})
	if err != nil {
		err = m.failed(err)
		m.stop()
		return nil, err
	}
	return m, nil
}

// stop ends the master and removes its directory. Call it once.
func (m *testMaster) stop() {
	m.daemon.stop()
	os.RemoveAll(m.dir)
}

// until calls f every 20 ms until it returns no error, at most for limit, and at least once.
// It returns f's error if that is a *failure (at once) or, wrapped, after limit; ctx.Err() if
// ctx ends, and an error if the master does. It does not interrupt f.
func (m *testMaster) until(ctx context.Context, limit time.Duration, f func() error) error {
	for end := time.Now().Add(limit); ; {
		err := f()
		var final *failure
		switch {
		case err == nil || errors.As(err, &final):
			return err
		case time.Now().After(end):
			return fmt.Errorf("after %v: %w", limit, err)
		}
		select {
		case e := <-m.done:
			m.done <- e // for stop
			return fmt.Errorf("the master ended: %v", e)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// do sends a request to the master's API, path below /api/v1, with in as JSON (nil: no body),
// and decodes the answer into out (nil: it is ignored). It waits at most 30 s, or until ctx
// ends. A status of 300 or more is an error with the last 500 bytes of the answer.
func (m *testMaster) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(ctx, method, m.url+"/api/v1"+path, body)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := m.http.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, a.Status, tail(b, 500))
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// submit queues a run of a scenario's source, on all agents unless o names some, and
// returns its id; it does not wait for the run.
func (m *testMaster) submit(ctx context.Context, source string, o domain.Options) (string, error) {
	var order domain.Order
	err := m.do(ctx, "POST", "/runs", map[string]any{"name": "bench", "source": domain.Source{Scenario: source}, "options": o}, &order)
	return order.ID, err
}

// await waits until a run is in a state, at most for limit. If the run ends in another state,
// it returns a *failure at once; other errors, as for an unknown id, are returned after limit.
// A state that lasts less than 20 ms may be missed.
func (m *testMaster) await(ctx context.Context, id string, state domain.State, limit time.Duration) error {
	return m.until(ctx, limit, func() error {
		var o domain.Order
		if err := m.do(ctx, "GET", "/runs/"+id, nil, &o); err != nil {
			return err
		}
		if o.State.Final() && o.State != state {
			return &failure{args: m.cmd.Args, why: fmt.Errorf("the run is %s: %s", o.State, o.Cause)}
		}
		if o.State != state {
			return fmt.Errorf("the run is %s (%s), not %s", o.State, o.Cause, state)
		}
		return nil
	})
}

// agents waits until exactly n agents are connected, at most for limit. The error is that of
// until.
func (m *testMaster) agents(ctx context.Context, n int, limit time.Duration) error {
	return m.until(ctx, limit, func() error {
		f, err := m.scrape(ctx)
		if err == nil && int(f.values["gobench_agents"]) != n {
			err = fmt.Errorf("%v agents are there, not %d", f.values["gobench_agents"], n)
		}
		return err
	})
}

// figures are the master's metrics at one moment. values has the value of each line of
// /metrics, by its name with its labels.
type figures struct {
	at     time.Time
	cpu    time.Duration // of its process
	rss    int64         // bytes
	values map[string]float64
}

// scrape reads the master's /metrics and the CPU time and memory of its process. It waits at
// most 30 s. It returns an error if there are no figures, or ctx ends.
func (m *testMaster) scrape(ctx context.Context) (*figures, error) {
	q, err := http.NewRequestWithContext(ctx, "GET", m.url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	a, err := m.http.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	f := &figures{at: time.Now(), cpu: statTime(stat(m.pid())), rss: residentBytes(m.pid()), values: map[string]float64{}}
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil && name != "#" {
			f.values[name] = v
		}
	}
	if len(f.values) == 0 {
		return nil, errors.New("no figures at /metrics")
	}
	return f, nil
}

// grown returns by how much a figure grew since before. A figure that is missing counts as
// 0.
func (f *figures) grown(before *figures, name string) float64 {
	return f.values[name] - before.values[name]
}

// bounds are the bounds of the master's histograms, in seconds, as text.
var bounds = []string{"0.001", "0.002", "0.005", "0.01", "0.025", "0.05", "0.1", "0.2", "0.4", "1", "2", "5"}

// atMost returns the value that this share of a histogram's recordings since before did
// not exceed: the bound of the range that has the last of them, in seconds. It is +Inf for
// no recordings, and for a value above all bounds.
func (f *figures) atMost(before *figures, name string, share float64) float64 {
	n := f.grown(before, name+"_count")
	for _, le := range bounds {
		if n > 0 && f.grown(before, name+`_bucket{le="`+le+`"}`) >= share*n {
			v, _ := strconv.ParseFloat(le, 64) // one of bounds
			return v
		}
	}
	return math.Inf(1)
}

// limits lists the figures that exceed their limits. The zero value is "met" (see String).
type limits []string

// at adds the name of a figure if it is above its limit, or NaN.
func (v *limits) at(what string, is, limit float64) {
	if !(is <= limit) {
		*v = append(*v, what)
	}
}

// String returns "met", or "missed: " and the names, as a cell of the page.
func (v limits) String() string {
	if len(v) == 0 {
		return "met"
	}
	return "missed: " + strings.Join(v, ", ")
}
