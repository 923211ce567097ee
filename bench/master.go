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
type daemon struct {
	cmd  *exec.Cmd
	log  *os.File
	done chan error
}

// startDaemon starts gobench on the given CPUs; its log is in dir.
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

// failed adds the end of the daemon's log to an error.
func (d *daemon) failed(err error) error {
	said, _ := os.ReadFile(d.log.Name())
	return &failure{args: d.cmd.Args, why: err, stderr: said}
}

// stop ends the daemon.
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

// A testMaster is a master with its own directory and without an agent.
type testMaster struct {
	*daemon
	url  string
	dir  string
	http *http.Client
}

// startMaster starts a master on the given CPUs and logs in.
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

// stop ends the master and removes its directory.
func (m *testMaster) stop() {
	m.daemon.stop()
	os.RemoveAll(m.dir)
}

// until calls f until it returns no error, at most for limit.
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

// do sends a request to the master's API; if out is nil, the answer is ignored.
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

// submit queues a run of a scenario and returns its id.
func (m *testMaster) submit(ctx context.Context, source string, o domain.Options) (string, error) {
	var order domain.Order
	err := m.do(ctx, "POST", "/runs", map[string]any{"name": "bench", "source": domain.Source{Scenario: source}, "options": o}, &order)
	return order.ID, err
}

// await waits until a run is in a state.
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

// agents waits until n agents are connected.
func (m *testMaster) agents(ctx context.Context, n int, limit time.Duration) error {
	return m.until(ctx, limit, func() error {
		f, err := m.scrape(ctx)
		if err == nil && int(f.values["gobench_agents"]) != n {
			err = fmt.Errorf("%v agents are there, not %d", f.values["gobench_agents"], n)
		}
		return err
	})
}

// figures are the master's metrics at one moment.
type figures struct {
	at     time.Time
	cpu    time.Duration // of its process
	rss    int64         // bytes
	values map[string]float64
}

// scrape reads the master's /metrics.
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

// grown is by how much a figure grew since before.
func (f *figures) grown(before *figures, name string) float64 {
	return f.values[name] - before.values[name]
}

// bounds are the bounds of the master's histograms, in seconds, as text.
var bounds = []string{"0.001", "0.002", "0.005", "0.01", "0.025", "0.05", "0.1", "0.2", "0.4", "1", "2", "5"}

// atMost returns the value that this share of a histogram's recordings since before did not
// exceed: the bound of the range that has the last of them, in seconds.
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

// limits lists the figures that exceed their limits. The zero value is "met".
type limits []string

// at adds a figure if it is above its limit.
func (v *limits) at(what string, is, limit float64) {
	if !(is <= limit) {
		*v = append(*v, what)
	}
}

func (v limits) String() string {
	if len(v) == 0 {
		return "met"
	}
	return "missed: " + strings.Join(v, ", ")
}
