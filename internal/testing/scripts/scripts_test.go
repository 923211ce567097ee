package scripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/testing/repo"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestMain(m *testing.M) {
	binary.InParallel(8) // most of the time is spent waiting for runs to end
	os.Exit(m.Run())
}

// TestScripts runs testdata/script: the program as a user runs it. Each script has its
// own home directory and its own HTTP server at $TARGET.
func TestScripts(t *testing.T) {
	path := strings.TrimPrefix(binary.Path(t), "PATH=")
	cache := t.TempDir()
	t.Cleanup(func() { binary.MakeWritable(cache) })
	goCache, goModCache := repo.GoEnv(t, "GOCACHE"), repo.GoEnv(t, "GOMODCACHE")
	mastersCache := binary.CompilerCache(t)
	ca := servers.NewCA(t)
	testscript.Run(t, testscript.Params{
		Dir: repo.Path(t, "testdata/script"),
		Setup: func(env *testscript.Env) error {
			t := env.T().(testing.TB)
			target := servers.NewTarget(t)
			env.Values[targetKey{}] = target
			env.Values[testKey{}] = t
			home := filepath.Join(env.WorkDir, "home")
			for _, v := range []string{
				"PATH=" + path, "TARGET=" + target.URL, "CLOSED=http://127.0.0.1:1", "HOME=" + home, "XDG_CACHE_HOME=" + cache, "XDG_DATA_HOME=",
				"GOCACHE=" + goCache, "GOMODCACHE=" + goModCache, binary.NoWarm,
				"CACHE=" + cache, "FIXTURES=" + repo.Path(t, "testdata"), "MASTERS_CACHE=" + mastersCache, "GOCACHE_WARM=" + goCache,
			} {
				name, value, _ := strings.Cut(v, "=")
				env.Setenv(name, value)
			}
			return os.Mkdir(home, 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name != "long" { // make test-long: a quiet machine
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return long.Run, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "served": served, "answered": answered, "schema": schema, "events": events, "field": field, "eventually": eventually, "asked": asked,
			"counted": counted, "unique": unique, "same": same, "fill": fill, "sums": sums, "lines": lines, "listens": listens, "ready": ready, "certificate": certificate(ca, t), "mutual": mutual(ca, t), "documented": documented,
			"nats": natsServer(ca), "postgres": postgres, "sql": sql,
			"unpack": unpack, "restore": restore, "agree": agree,
		},
	})
}

type (
	targetKey struct{} // of a script's *servers.Target
	testKey   struct{} // of a script's testing.TB
)

// listens waits until a target server has written its address into a file, and
// puts that into a variable: listens FILE VARIABLE.
func listens(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, false, []string{args[0], "listening on "})
	_, rest, _ := strings.Cut(ts.ReadFile(args[0]), "listening on ")
	url, _, _ := strings.Cut(rest, " ")
	ts.Setenv(args[1], url)
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

// served checks how many requests the target has answered: N or, of an open load whose last
// starts a busy host may leave unserved, N less the unserved ones of a report: served N
// [FILE.json].
func served(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	if len(args) > 1 {
		var r run.Result
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &r))
		want -= r.Outcome().Unserved
	}
	if n := ts.Value(targetKey{}).(*servers.Target).Served(); n != want {
		ts.Fatalf("the target served %d requests, want %d", n, want)
	}
}

// answered waits until the target has answered N requests or more: answered N.
func answered(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	target := ts.Value(targetKey{}).(*servers.Target)
	for end := time.Now().Add(time.Minute); target.Served() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("the target answered %d requests within a minute, want %d", target.Served(), want)
		}
	}
}

// asked writes a line for each request to the target since the last call: asked FILE.
func asked(ts *testscript.TestScript, _ bool, args []string) {
	requests := ts.Value(targetKey{}).(*servers.Target).TakeRequests()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(requests, "\n")+"\n"), 0o600))
}

// schema validates a result by the schema in docs: schema FILE.
func schema(ts *testscript.TestScript, _ bool, args []string) {
	s, err := jsonschema.NewCompiler().Compile(schemaFile(ts, "result"))
	ts.Check(err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if err := s.Validate(v); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// events validates each line of a file by the schema of events: events FILE.
func events(ts *testscript.TestScript, _ bool, args []string) {
	s, err := jsonschema.NewCompiler().Compile(schemaFile(ts, "events"))
	ts.Check(err)
	for _, line := range strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n") {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		ts.Check(err)
		if err := s.Validate(v); err != nil {
			ts.Fatalf("%s: %v", line, err)
		}
	}
}

// schemaFile returns the path of a schema in docs.
func schemaFile(ts *testscript.TestScript, name string) string {
	return repo.Path(ts.Value(testKey{}).(testing.TB), "docs/formats/"+name+".schema.json")
}

// field checks one value of a JSON file: field FILE PATH WANT, the path's parts
// separated by slashes; an element of an array is named by its number or its title.
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

// eventually waits until a file has a text: eventually FILE TEXT. It waits so long that what
// works at idle priority gets there on a busy host.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		names, _ := filepath.Glob(ts.MkAbs(args[0]))
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), args[1]) {
				return
			}
		}
	}
	ts.Fatalf("%s never had %q", args[0], args[1])
}
