package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/cli"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestMain(m *testing.M) {
	sandbox.Main() // an agent's helper is this program, too
	if os.Getenv(lookoutEnv) != "" {
		lookOut()
		return
	}
	if cli.Called() {
		os.Exit(cli.Main(sdk))
	}
	testscript.Main(withPlainDir{m}, map[string]func(){"gobench": func() { os.Exit(cli.Main(sdk)) }})
}

// TestScripts runs testdata/script: the program as a person uses it. Each script has
// a home of its own and an HTTP server at $TARGET.
func TestScripts(t *testing.T) {
	cache := t.TempDir()
	t.Cleanup(func() { makeWritable(cache) })
	real := goEnv(t, "GOCACHE", "GOMODCACHE", "GOROOT")
	mastersCache := masterCache(t)
	ca := servers.NewCA(t)
	fixtures, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			srv := newTarget()
			env.Defer(srv.Close)
			env.Values[targetKey{}] = srv
			env.Values[testKey{}] = env.T().(testing.TB)
			home := filepath.Join(env.WorkDir, "home")
			for _, v := range []string{
				"TARGET=" + srv.URL, "CLOSED=http://127.0.0.1:1", "HOME=" + home, "XDG_CACHE_HOME=" + cache, "XDG_DATA_HOME=",
				"GOCACHE=" + real["GOCACHE"], "GOMODCACHE=" + real["GOMODCACHE"], "GOBENCH_NO_WARM=1",
				"CACHE=" + cache, "FIXTURES=" + fixtures, "MASTERS_CACHE=" + mastersCache, "GOCACHE_WARM=" + real["GOCACHE"],
			} {
				name, value, _ := strings.Cut(v, "=")
				env.Setenv(name, value)
			}
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "served": served, "schema": schema, "events": events, "field": field, "eventually": eventually, "asked": asked,
			"counted": counted, "unique": unique, "same": same, "fill": fill, "sums": sums, "lines": lines, "listens": listens, "ready": ready, "certificate": certificate(ca, t), "mutual": mutual(ca, t), "documented": documented,
			"nats": natsServer(ca), "postgres": postgres, "sql": sql,
			"unpack": unpack, "restore": restore, "agree": agree,
		},
	})
}

func goEnv(t *testing.T, names ...string) map[string]string {
	values := map[string]string{}
	for _, name := range names {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		values[name] = strings.TrimSpace(string(out))
	}
	return values
}

// makeWritable lets a cache of read-only files be removed.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
}

// listens waits until a target server has written where it listens into a file, and
// puts that into a variable: listens FILE VARIABLE.
func listens(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, false, []string{args[0], "listening on "})
	_, rest, _ := strings.Cut(ts.ReadFile(args[0]), "listening on ")
	url, _, _ := strings.Cut(rest, " ")
	ts.Setenv(args[1], url)
}

type targetKey struct{}

// target counts what it is asked: /503 fails, /slow takes 300 ms, /hangs never answers, /private is ada's, the rest is well.
type target struct {
	*httptest.Server
	served atomic.Int64

	mu    sync.Mutex
	asked []string // lines of the requests, in order, guarded by mu
}

func newTarget() *target {
	t := new(target)
	t.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/forever":
			<-r.Context().Done()
			return
		case "/slow":
			select {
			case <-time.After(300 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		case "/private":
			if name, password, _ := r.BasicAuth(); name != "ada" || password != "s3cret" || r.Header.Get("X-Token") != "t0ken" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		case "/hangs":
			<-r.Context().Done()
			return
		case "/echo":
			w.Header().Set("X-Got", r.Method+r.Header.Get("X-Test"))
			if r.Method != http.MethodPost || r.Header.Get("X-Test") != "yes" || r.ContentLength != 5 {
				w.WriteHeader(http.StatusBadRequest)
			}
		}
		body, _ := io.ReadAll(r.Body) // what came of it is what was asked
		t.served.Add(1)
		t.mu.Lock()
		t.asked = append(t.asked, strings.TrimRight(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Row"), body), " "))
		t.mu.Unlock()
	}))
	return t
}

// exits runs a command that must end with a status: exits STATUS COMMAND ARGS...
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// served checks how many requests the target has answered: served N.
func served(ts *testscript.TestScript, _ bool, args []string) {
	if n := ts.Value(targetKey{}).(*target).served.Load(); strconv.FormatInt(n, 10) != args[0] {
		ts.Fatalf("the target served %d requests, want %s", n, args[0])
	}
}

// asked writes what the target was asked since the last call: asked FILE.
func asked(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(targetKey{}).(*target)
	t.mu.Lock()
	defer t.mu.Unlock()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(t.asked, "\n")+"\n"), 0o600))
	t.asked = nil
}

// schema holds a result against the schema in docs: schema FILE.
func schema(ts *testscript.TestScript, _ bool, args []string) {
	s, err := jsonschema.NewCompiler().Compile("docs/formats/result.schema.json")
	ts.Check(err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if err := s.Validate(v); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// events holds each line of a file against the schema of events: events FILE.
func events(ts *testscript.TestScript, _ bool, args []string) {
	s, err := jsonschema.NewCompiler().Compile("docs/formats/events.schema.json")
	ts.Check(err)
	for _, line := range strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n") {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		ts.Check(err)
		if err := s.Validate(v); err != nil {
			ts.Fatalf("%s: %v", line, err)
		}
	}
}

// field checks one value of a JSON file: field FILE PATH WANT, the path's parts
// separated by slashes; an array is entered by number, or by the title of an element.
func field(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for _, part := range strings.Split(args[1], "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			v = element(x, part)
		default:
			v = nil
		}
	}
	if got := fmt.Sprint(v); (got == args[2]) == neg {
		ts.Fatalf("%s of %s is %q", args[1], args[0], got)
	}
}

func element(list []any, part string) any {
	if part == "length" {
		return len(list)
	}
	if n, err := strconv.Atoi(part); err == nil && n < len(list) {
		return list[n]
	}
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m["title"] == part {
			return e
		}
	}
	return nil
}

// eventually waits until a file has a text: eventually FILE TEXT.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		names, _ := filepath.Glob(ts.MkAbs(args[0]))
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), args[1]) {
				return
			}
		}
	}
	ts.Fatalf("%s never had %q", args[0], args[1])
}
