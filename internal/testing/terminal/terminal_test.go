//go:build linux

package terminal

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestMain(m *testing.M) {
	binary.InParallel(8) // most of the time is spent waiting for gobench
	os.Exit(m.Run())
}

// Keys change the run, as its result shows. The screen shows what gobench ctl does. The window
// may change its size at any time.
func TestTerminalKeys(t *testing.T) {
	t.Parallel()
	srv := servers.NewTarget(t)
	dir := t.TempDir()
	s := onScreen(t, 100, 30, nil, "gobench", "--dir", dir, "http", "-c", "5", "--rate", "100", "-d", "1h", "--threshold", "http.http_fail rate < 1%", srv.URL+"/")
	s.sees("http  GET "+srv.URL, "running", "schedule: 100/s", "http response time", "met so far: 0%", "p pause", "generator")
	if s.modes() == s.before {
		t.Error("the terminal waits for whole lines")
	}
	s.types("+")
	s.sees("set to 110/s", "scale by a key rate 110/s")
	s.types("-")
	s.sees("set to 100/s")
	s.types("p")
	s.sees("paused", "p resume")
	s.types("\x1b[A") // an arrow is no key of ours
	s.types("p")
	s.sees("resume by a key", "running")
	if out, err := binary.Command(t, "--dir", dir, "ctl", "last", "scale", "--rate", "50").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.sees("scale by gobench ctl rate 50/s", "set to 50/s")
	s.types("?")
	s.sees("as Ctrl-C: the first stops, the second cancels")
	s.types("?")
	s.until("no help", func(now string) bool { return !strings.Contains(now, "as Ctrl-C") })

	for _, size := range [][2]int{{40, 12}, {200, 50}, {60, 3}, {100, 30}} {
		s.resize(size[0], size[1])
		s.until("a screen of "+strconv.Itoa(size[0]), func(now string) bool {
			lines := strings.Split(now, "\n")
			for _, l := range lines {
				if n := len([]rune(l)); strings.HasSuffix(l, "running") {
					return n == min(size[0], 133)-2 && strings.Count(now, "running") == 1
				}
			}
			return size[1] <= 3 && strings.Contains(now, " left")
		})
	}
	s.types("s")
	s.exits(0)
	if after := s.modes(); after != s.before {
		t.Errorf("modes %s, before %s", after, s.before)
	}
	if !strings.Contains(s.all(), "http: finished: stopped by a key") || strings.Contains(s.text(), "p pause") {
		t.Errorf("the screen at the end:\n%s", s.all())
	}
	r := binary.Stored(t, dir)
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"class http set to 110 starts/s", "class http set to 100 starts/s", ": paused", ": resumed", "class http set to 50 starts/s"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes have no %q:\n%s", want, notes)
		}
	}
	if r.State != run.Finished || r.Cause != "stopped by a key" || !r.Complete {
		t.Errorf("%s, %s, complete %v", r.State, r.Cause, r.Complete)
	}
}

// However a run ends, the terminal is as before.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		path   string
		end    func(s *screen, executor int)
		status int
		state  run.State
		cause  string
	}{
		{"Ctrl-C", "/", func(s *screen, _ int) { s.types("\x03") }, 0, run.Finished, "stopped by Ctrl-C"},
		{"Ctrl-C twice", "/hangs", func(s *screen, _ int) {
			s.types("\x03")
			s.sees("stopping", "waiting for what is in flight", "q cancels")
			s.types("\x03")
		}, 130, run.Cancelled, "cancelled by a second Ctrl-C"},
		{"q twice", "/hangs", func(s *screen, _ int) {
			s.types("q")
			s.sees("q cancels")
			s.types("q")
		}, 130, run.Cancelled, "cancelled by a second Ctrl-C"},
		{"SIGTERM", "/", func(s *screen, _ int) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }, 0, run.Finished, "stopped by SIGTERM"},
		{"the end of the terminal", "/", func(s *screen, _ int) { _ = s.cmd.Process.Signal(syscall.SIGHUP) }, 0, run.Finished, "stopped by the end of its terminal"},
		{"the executor's death", "/", func(_ *screen, executor int) { _ = syscall.Kill(executor, syscall.SIGKILL) }, 1, run.Failed, "the executor was killed by signal 9 (killed)"},
		{"SIGQUIT", "/", func(s *screen, _ int) { s.types("\x1c") }, 2, run.Running, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := servers.NewTarget(t)
			dir := t.TempDir()
			s := onScreen(t, 90, 24, nil, "gobench", "--dir", dir, "http", "-c", "2", "-d", "1h", "--timeout", "1h", srv.URL+tt.path)
			s.sees("running", "generator", "p pause")
			executor, err := binary.Child(s.cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			tt.end(s, executor)
			s.exits(tt.status)
			if after := s.modes(); after != s.before {
				t.Errorf("modes %s, before %s", after, s.before)
			}
			if r := binary.Stored(t, dir); r.State != tt.state || r.Cause != tt.cause {
				t.Errorf("%s: %s, want %s: %s", r.State, r.Cause, tt.state, tt.cause)
			}
		})
	}
}

// Ctrl-Z returns the terminal to the shell in its former modes, and fg continues the run. In the
// background nothing is drawn.
func TestTerminalSuspends(t *testing.T) {
	t.Parallel()
	srv := servers.NewTarget(t)
	dir := t.TempDir()
	s := onScreen(t, 100, 30, []string{"PS1=ready> ", "HISTFILE="}, "bash", "--noprofile", "--norc", "--noediting", "-i")
	s.sees("ready>")
	before := s.modes()
	s.types("gobench --dir " + dir + " http -c 2 --rate 50 -d 1h " + srv.URL + "/\r")
	s.sees("running", "generator", "p pause")
	s.types("\x1a")
	s.until("the prompt alone", func(now string) bool {
		return strings.HasSuffix(now, "ready>") && strings.Contains(now, "Stopped") && !strings.Contains(now, "p pause")
	})
	if now := s.modes(); now != before {
		t.Errorf("modes while it is stopped %s, before %s", now, before)
	}
	s.types("bg\r")
	s.types("echo $((40+2))\r")
	s.until("the echo", regexp.MustCompile(`(?m)^(ready> )?42$`).MatchString)
	s.types("fg\r")
	s.sees("running", "p pause")
	s.types("s")
	s.until("the report", func(string) bool { return strings.Contains(s.all(), "http: finished: stopped by a key") })
	s.types("exit\r")
	s.exits(0)
}

// What a scenario prints scrolls up above the block, without control sequences. NO_COLOR leaves
// styles out.
func TestTerminalShowsWhatIsPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "prints.go")
	source := `package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
)

func work(ctx context.Context, vui int) {
	executor.Check(ctx, "it works", vui == 0)
	if vui == 0 {
		fmt.Print("begun\n\x1b[2J\x1b[31mred\x1b[0m\ttab\nno end")
	}
	time.Sleep(10 * time.Millisecond)
}

func export() scenario.Vus {
	return scenario.Vus{{Name: "a", Nu: 2, Fu: work, Load: scenario.Ramp{{To: 2}, {To: 2, Over: time.Hour}}}, {Name: "b", Nu: 1, Fu: work, Load: scenario.Loop(time.Hour)}}
}
`
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, 100, 40, []string{"NO_COLOR=1"}, "gobench", "--dir", dir, "run", file, "--threshold", `check "it works" rate > 99%`)
	s.sees("prints.go", "running", "a stage 2 of 2: 2 users", `\x1b[2J\x1b[31mred\x1b[0m    tab`, "✗ it works", "a response time", "b response time", "not met so far")
	s.types("+")
	s.sees("a set to 3 users", "b set to 2 users")
	s.types("s")
	s.exits(4)
	if s.styled {
		t.Error("there were styles despite NO_COLOR")
	}
	if !strings.Contains(s.all(), "class a set to 3 users") {
		t.Errorf("the report has no change of users:\n%s", s.all())
	}
}

// A terminal without cursor control, and --quiet, get lines.
func TestTerminalWithoutBlock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"dumb", []string{"TERM=dumb"}, nil, `(?m)^ +1s  1 users  http.latency [0-9,.]+/s p50`},
		{"quiet", []string{"NO_COLOR=1"}, []string{"--quiet"}, `^\n[0-9,]+ requests in .*\n(.*\n)*\n(VALID|SUSPECT|INVALID)`},
		{"json", []string{"NO_COLOR=1"}, []string{"--json"}, `^{"event":"state",`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := servers.NewTarget(t)
			s := onScreen(t, 120, 60, tt.env, "gobench", append([]string{"--dir", t.TempDir(), "http", "-c", "1", "-d", "1200ms", srv.URL + "/"}, tt.args...)...)
			s.exits(0)
			if !regexp.MustCompile(tt.want).MatchString(s.all()) || s.styled {
				t.Errorf("want %s, without a style:\n%s", tt.want, s.all())
			}
		})
	}
}
