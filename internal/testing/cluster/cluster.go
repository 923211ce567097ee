//go:build linux

package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

// Cluster is a master and its agents.
type Cluster struct {
	Master  *Node
	Agents  []*Node
	host    func(name string) *Host
	http    *http.Client
	url     string
	ledgers string   // folder, of all agents
	work    string   // folder of the boxes of all agents
	tokens  tokens   // of the API
	Wrap    []string // command and arguments that agents to come are started by
}

// Node is a host with gobench on it.
type Node struct {
	*Host
	*Process
	Dir string
	ID  string // of an agent
}

// New starts a master without its own agent, with more flags of gobench serve, and further
// agents, each on a host of its own, and waits until all are ready. All of it is killed at
// the test's end. The tests must run by Main.
func New(t testing.TB, agents int, flags ...string) *Cluster {
	t.Helper()
	return newCluster(t, func(name string) *Host { return NewHost(t, name) }, t.TempDir(), agents, flags)
}

// NewHere is New with all of it on the network of the tests themselves.
func NewHere(t testing.TB, agents int, flags ...string) *Cluster {
	t.Helper()
	return newCluster(t, here, t.TempDir(), agents, flags)
}

// newCluster implements New; host returns a new host, and dir is the master's folder.
func newCluster(t testing.TB, host func(name string) *Host, dir string, agents int, flags []string) *Cluster {
	t.Helper()
	h := host("master")
	work, err := os.MkdirTemp("", "gbt-") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(work, 0o711); err != nil { // other users pass through
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	c := &Cluster{host: host, Master: &Node{Host: h, Dir: dir}, ledgers: t.TempDir(), work: work}
	c.prepare(t)
	c.serve(t, flags)
	for range agents {
		c.begin(t)
	}
	for _, n := range c.Agents {
		c.AwaitAgent(t, n, "ready", time.Minute)
	}
	return c
}

// serve starts the master, sets c.url and c.http, and waits until it answers. Call prepare
// before.
func (c *Cluster) serve(t testing.TB, flags []string) {
	t.Helper()
	h := c.Master.Host
	c.url = "http://" + h.Address + ":8080"
	args := append([]string{"serve", "--no-agent", "--insecure", "--dir", c.Master.Dir, "--addr", h.Address + ":8080", "--agent-addr", h.Address + ":8081", "--cache", binary.CompilerCache(t), timeScale()}, flags...)
	c.Master.Process = h.Start(t, []string{"GOBENCH_NO_WARM=1"}, args...)
	t.Cleanup(func() {
		if t.Failed() {
			c.explain(t)
		}
	})
	c.http = &http.Client{Timeout: 30 * time.Second}
	c.Back(t)
}

// Login starts a session with the name and password of the admin, which replaces the
// admin's token in all later requests.
func (c *Cluster) Login(t testing.TB) {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	c.http, c.tokens.admin = &http.Client{Jar: jar, Timeout: 30 * time.Second}, ""
	c.Do(t, "POST", "/api/v1/login", map[string]string{"name": "admin", "password": password}, nil)
}

// Back waits, at most a minute, until the master answers.
func (c *Cluster) Back(t testing.TB) {
	t.Helper()
	Eventually(t, time.Minute, func() string {
		if err := c.get("/api/v1/me", new(any)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// Join starts a further agent and waits, at most a minute, until the master has it.
func (c *Cluster) Join(t testing.TB, flags ...string) *Node {
	t.Helper()
	n := c.begin(t, flags...)
	c.AwaitAgent(t, n, "ready", time.Minute)
	return n
}

// begin starts a further agent, which joins by a new token, and adds it to c.Agents. It does
// not wait until the agent has joined. Call serve before. AwaitAgent sets its ID.
func (c *Cluster) begin(t testing.TB, flags ...string) *Node {
	t.Helper()
	var token struct{ Text string }
	c.Do(t, "POST", "/api/v1/join-tokens", struct{}{}, &token)
	h := c.host("agent")
	n := &Node{Host: h, Dir: t.TempDir()}
	h.Wrap = c.Wrap
	args := append([]string{"agent", "--dir", n.Dir, "--name", h.Name, "--ledger", c.ledgers, "--work", c.work, timeScale()}, flags...)
	n.Process = h.Start(t, nil, append(args, "--join", token.Text)...)
	n.Process.Args = args // from now on it is known
	c.Agents = append(c.Agents, n)
	return n
}

// AwaitAgent waits, at most limit, until the master reports an agent in a state ("ready",
// "lost" ...), and sets n.ID.
func (c *Cluster) AwaitAgent(t testing.TB, n *Node, state string, limit time.Duration) {
	t.Helper()
	Eventually(t, limit, func() string {
		var all struct {
			Items []struct{ ID, Name, State, Why string }
		}
		if err := c.get("/api/v1/agents", &all); err != nil {
			return err.Error()
		}
		for _, a := range all.Items {
			if a.Name == n.Host.Name {
				n.ID = a.ID
				if a.State == state {
					return ""
				}
				return fmt.Sprintf("agent %s is %s (%s), want %s", a.Name, a.State, a.Why, state)
			}
		}
		return "agent " + n.Host.Name + " is not there"
	})
}

// get sends a GET request and decodes the answer into a value. An answer other than 200 is
// an error.
func (c *Cluster) get(path string, into any) error {
	status, body, err := c.try("GET", path, nil)
	if err == nil && status != 200 {
		err = fmt.Errorf("GET %s: %d %s", path, status, body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// try sends a request as the admin, with in, unless nil, as JSON, and returns the answer,
// whatever its status; err is that of the exchange. c.url and c.http must be set.
func (c *Cluster) try(method, path string, in any) (status int, body []byte, err error) {
	var b bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&b).Encode(in); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequest(method, c.url+path, &b)
	if err != nil {
		return 0, nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.tokens.admin != "" {
		req.Header.Set("Authorization", "Bearer "+c.tokens.admin)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// Do sends a request as the admin, with in, unless nil, as JSON, and decodes the answer
// into out, unless nil. It fails the test if the answer is not of status 2xx.
func (c *Cluster) Do(t testing.TB, method, path string, in, out any) {
	t.Helper()
	status, body, err := c.try(method, path, in)
	if err != nil || status >= 300 {
		t.Fatalf("%s %s: %v %d %s", method, path, err, status, body)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, body)
		}
	}
}

// Submit submits a scenario, its source and files, as a run named after the test, and
// returns the run's id. It does not wait until the run begins or is compiled; it fails the
// test if the master refuses the run.
func (c *Cluster) Submit(t testing.TB, scenario string, o run.Options, files ...run.File) string {
	t.Helper()
	var order run.Order
	c.Do(t, "POST", "/api/v1/runs", map[string]any{"name": strings.ToLower(t.Name()), "source": run.Source{Scenario: scenario, Files: files}, "options": o}, &order)
	return order.ID
}

// Run returns a run as the master knows it now.
func (c *Cluster) Run(t testing.TB, id string) (o run.Order) {
	t.Helper()
	c.Do(t, "GET", "/api/v1/runs/"+id, nil, &o)
	return o
}

// Await waits until a run is in one of some states, and returns it. The limit begins when
// the run has been compiled, which on a busy host takes minutes (at most 5) if nothing is
// cached. It fails the test after the limit, or at once if the run ends in another state.
func (c *Cluster) Await(t testing.TB, id string, limit time.Duration, states ...run.State) (o run.Order) {
	t.Helper()
	look := func() string {
		if err := c.get("/api/v1/runs/"+id, &o); err != nil {
			return err.Error()
		}
		if !slices.Contains(states, o.State) {
			if o.State.Final() {
				t.Fatalf("run %s is %s (%s), want one of %v", id, o.State, o.Cause, states)
			}
			return fmt.Sprintf("run %s is %s, want one of %v", id, o.State, states)
		}
		return ""
	}
	Eventually(t, 5*time.Minute, func() string {
		why := look()
		if o.State != "" && o.State != run.Queued && o.State != run.Compiling {
			return "" // compiled
		}
		return why
	})
	Eventually(t, limit, look)
	return o
}

// Finished waits for a run's end, in whatever state, and returns its result; limit is as in
// Await.
func (c *Cluster) Finished(t testing.TB, id string, limit time.Duration) *run.Result {
	t.Helper()
	c.Await(t, id, limit, run.Finished, run.Failed, run.Cancelled)
	return c.Result(t, id)
}

// stop stops a run, waits at most a minute for its end and returns its result.
func (c *Cluster) stop(t testing.TB, id string) *run.Result {
	t.Helper()
	c.Do(t, "POST", "/api/v1/runs/"+id+"/stop", nil, nil)
	return c.Finished(t, id, time.Minute)
}

// Result returns a run's result; of a run that has not ended, the result so far.
func (c *Cluster) Result(t testing.TB, id string) *run.Result {
	t.Helper()
	r := new(run.Result)
	c.Do(t, "GET", "/api/v1/runs/"+id+"/result", nil, r)
	return r
}

// Database is the master's file.
func (c *Cluster) Database() string { return filepath.Join(c.Master.Dir, "master", "gobench.db") }

// Target is a server that counts its requests: users by their "vu", and all. It is safe for
// concurrent use.
type Target struct {
	URL  string
	Host *Host

	mu       sync.Mutex
	behave   http.HandlerFunc // how it answers; nil: at once
	seen     []Seen
	requests int64
	users    map[string]int64
	hosts    map[string]int64
	paths    map[string]int64
}

// Seen is a request that a target was asked.
type Seen struct {
	At    time.Time
	Host  string // address
	User  string
	Query string
}

// NewTarget starts a target on port 80 of a host of its own; it ends with the test.
func NewTarget(t testing.TB) *Target {
	t.Helper()
	h := NewHost(t, "target")
	x := &Target{URL: "http://" + h.Address + ":80/", Host: h, users: map[string]int64{}, hosts: map[string]int64{}, paths: map[string]int64{}}
	srv := &http.Server{Handler: x, ReadHeaderTimeout: 10 * time.Second}
	l := h.Listen(t, 80)
	go func() { _ = srv.Serve(l) }() // until the test's end
	t.Cleanup(func() { srv.Close() })
	return x
}

// ServeHTTP counts a request and answers it as Behave demands, else with "hello".
func (x *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.RemoteAddr, ":")
	x.mu.Lock()
	behave := x.behave
	x.seen = append(x.seen, Seen{time.Now(), host, r.URL.Query().Get("vu"), r.URL.RawQuery})
	x.requests++
	x.users[r.URL.Query().Get("vu")]++
	x.hosts[host]++
	x.paths[r.URL.Path]++
	x.mu.Unlock()
	if behave != nil {
		behave(w, r)
		return
	}
	fmt.Fprintln(w, "hello")
}

// On returns how many requests for a path came.
func (x *Target) On(path string) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.paths[path]
}

// Behave sets how the target answers from now on; nil means at once, with "hello". f is
// called concurrently.
func (x *Target) Behave(f http.HandlerFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.behave = f
}

// Seen returns the requests since a moment, in the order in which they came.
func (x *Target) Seen(since time.Time) []Seen {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := len(x.seen)
	for i > 0 && !x.seen[i-1].At.Before(since) {
		i--
	}
	return slices.Clone(x.seen[i:])
}

// Counted returns what has been counted so far: users by their "vu", hosts by their
// address, each with its number of requests.
func (x *Target) Counted() (requests int64, users, hosts map[string]int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.requests, maps.Clone(x.users), maps.Clone(x.hosts)
}
