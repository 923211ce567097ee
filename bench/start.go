package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// scenario is one user with one request: what happens before it is measured. An edit
// changes code: with a changed comment the compiled package would be the same, and the go
// command would not link again.
const scenario = `package main

import (
	"context"
	"os"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus {
	return scenario.Vus{{Nu: 1, Fu: user}}
}

func user(ctx context.Context, vui int) {
	client, err := http.NewHttpClient(ctx, "home")
	if err != nil {
		panic(err)
	}
	client.Get(ctx, os.Getenv("TARGET")+"?edit=%d", nil)
}
`

// startTable measures the time from the command to its first request at the server: with
// the scenario already compiled, edited since, and with all caches empty. See table for
// errors.
func startTable(ctx context.Context, b *bench) (*section, error) {
	in, err := b.install(ctx, gobench)
	if err != nil {
		return nil, err
	}
	g, err := b.startGrid(ctx, in.command[0])
	if err != nil {
		return nil, err
	}
	return &section{
		title: "Start: how long until the first request",
		text: []string{"A scenario of one user with one HTTP request, timed from the fork of `gobench run` to the " +
			"request's arrival at a server on the same machine."},
		grids:    []grid{g},
		versions: []string{in.version},
		commands: []string{"gobench run scenario.go --duration 1s"},
	}, nil
}

// startGrid measures the times of the gobench bin in milliseconds: one run with empty caches,
// then b.pairs runs with an edited and as many with an unchanged scenario, one row each. The
// first run that fails, as when ctx ends, ends it with its error, without rows. It removes its
// caches.
func (b *bench) startGrid(ctx context.Context, bin string) (grid, error) {
	door, err := openDoor()
	if err != nil {
		return grid{}, err
	}
	defer door.close()
	home, err := os.MkdirTemp("", "gobench-bench-start-")
	if err != nil {
		return grid{}, err
	}
	defer removeAll(home)

	// first runs the scenario once and returns the time until its first request.
	edits := 0
	first := func(edit bool) (float64, error) {
		file := filepath.Join(home, "scenario", "scenario.go")
		if edit {
			edits++
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return 0, err
			}
			if err := os.WriteFile(file, fmt.Appendf(nil, scenario, edits), 0o644); err != nil {
				return 0, err
			}
		}
		door.rearm()
		u, err := measure(ctx, job{
			args:  []string{bin, "run", file, "--duration", "1s"},
			env:   append(privateCaches(home), "TARGET="+door.url()),
			limit: 5 * time.Minute,
		})
		if err != nil {
			return 0, err
		}
		at, ok := door.first()
		if !ok {
			return 0, &failure{[]string{bin, "run", file}, fmt.Errorf("no request arrived"), u.stdout, u.stderr}
		}
		return at.Sub(u.start).Seconds() * 1000, nil
	}

	g := grid{head: []string{"gobench run, from the command to its first request", "runs", "median ms", "min", "max", "limit ms"}}
	for _, row := range []struct {
		name, limit string
		runs        int
		edit        bool // before each run
	}{
		{"nothing compiled before, all caches empty", "", 1, true}, // fills them for the others
		{"scenario edited", "2000", b.pairs, true},
		{"scenario unchanged", "300", b.pairs, false},
	} {
		var ms []float64
		for range row.runs {
			x, err := first(row.edit)
			if err != nil {
				return grid{}, err
			}
			ms = append(ms, x)
			b.logf("%s: %.0f ms", row.name, x)
		}
		i := medianInterval(ms, 1) // the whole range
		g.rows = append(g.rows, []string{row.name, fmt.Sprint(row.runs),
			fmt.Sprintf("%.0f", median(ms)), fmt.Sprintf("%.0f", i.Lo), fmt.Sprintf("%.0f", i.Hi), row.limit})
	}
	return g, nil
}

// privateCaches returns variables (NAME=VALUE) with which neither gobench nor the go
// command finds anything of earlier runs outside of dir, nor leaves anything in the user's
// home.
func privateCaches(dir string) []string {
	return []string{
		"HOME=" + dir,
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"XDG_DATA_HOME=" + filepath.Join(dir, "data"),
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"GOCACHE=" + filepath.Join(dir, "go-build"),
		"GOPATH=" + filepath.Join(dir, "go"),
		"GOMODCACHE=" + filepath.Join(dir, "go", "mod"),
	}
}

// removeAll removes a tree that may contain Go's module cache, which is read-only. Errors
// are ignored.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
	os.RemoveAll(dir)
}

// A door is a small HTTP server that records the time of its first request. The caller
// must call close.
type door struct {
	srv *http.Server
	ln  net.Listener

	mu sync.Mutex
	at time.Time
}

// openDoor starts a door on a free loopback port. The error is that of listening.
func openDoor() (*door, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &door{ln: ln}
	d.srv = &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		now := time.Now()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.at.IsZero() {
			d.at = now
		}
	})}
	go d.srv.Serve(ln) // ends with close
	return d, nil
}

func (d *door) url() string { return "http://" + d.ln.Addr().String() + "/" }
func (d *door) close()      { d.srv.Close() }

// rearm forgets the request that first returns, so that the next one is recorded.
func (d *door) rearm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = time.Time{}
}

// first returns the time of the first request since rearm or openDoor; false if no request
// came. It does not wait.
func (d *door) first() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at, !d.at.IsZero()
}
