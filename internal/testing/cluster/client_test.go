//go:build linux

package cluster

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/docs"
)

// lineServer answers each line with a line, but each 10th with a failure, each 21st by closing
// the connection, and each 45th never. It counts what it does.
type lineServer struct {
	address                 string
	seen                    atomic.Int64
	ok, busy, closed, hangs atomic.Int64
}

func newLineServer(t *testing.T) *lineServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &lineServer{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *lineServer) serve(c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		switch n := s.seen.Add(1); {
		case n%45 == 0:
			s.hangs.Add(1)
		case n%21 == 0:
			s.closed.Add(1)
			return
		case n%10 == 0:
			s.busy.Add(1)
			fmt.Fprintln(c, "-BUSY")
		default:
			s.ok.Add(1)
			fmt.Fprintln(c, "+a")
		}
	}
}

// agrees fails the test unless a result has exactly what the server has seen.
func (s *lineServer) agrees(t *testing.T, r *run.Result) {
	t.Helper()
	if !r.Complete {
		t.Errorf("incomplete: %v", r.Missing)
	}
	for title, want := range map[string]int64{"begun": s.seen.Load(), "ok": s.ok.Load(), "failed": s.busy.Load(), "status.BUSY": s.busy.Load(), "unanswered": s.closed.Load() + s.hangs.Load(),
		"error.eof": s.closed.Load(), "error.timeout": s.hangs.Load(), "latency": s.ok.Load() + s.busy.Load(), "age": s.closed.Load() + s.hangs.Load(), "bytes": 2 * s.ok.Load()} {
		if got := binary.Total(r, "lines."+title); got != want || want == 0 {
			t.Errorf("lines.%s is %d, the server has %d", title, got, want)
		}
	}
}

// clientOfThePage writes the client and the scenario of docs/adding-a-client.md into a folder.
func clientOfThePage(t *testing.T) (dir, client, scenario string) {
	t.Helper()
	var files []string
	for _, b := range docs.Blocks(t, "docs/adding-a-client.md") {
		if b.Kind == "go" {
			files = append(files, b.Text)
		}
	}
	if len(files) != 2 {
		t.Fatalf("the page has %d files, want the client and the scenario", len(files))
	}
	dir = filepath.Join(t.TempDir(), "lines")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"client.go", "scenario.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(files[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files[0], files[1]
}

// The client of docs/adding-a-client.md: thresholds, guards, the lines of a run in progress,
// reports, --once and a cluster know it, and its numbers are the server's.
func TestClientOfThePage(t *testing.T) {
	t.Parallel()
	dir, client, scenario := clientOfThePage(t)
	runs := t.TempDir()
	gobench := func(t *testing.T, s *lineServer, status int, args ...string) string {
		t.Helper()
		cmd := binary.Command(t, slices.Concat([]string{"--dir", runs, "run", dir, "--set", "address=" + s.address}, args)...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("status %d, want %d:\n%s", got, status, out)
		}
		return string(out)
	}
	wants := func(t *testing.T, text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
	t.Run("once", func(t *testing.T) {
		wants(t, gobench(t, newLineServer(t), 0, "--once"), "lines: ok after", "lines.begun", "lines.latency")
	})
	t.Run("reports", func(t *testing.T) {
		t.Parallel()
		s, out := newLineServer(t), t.TempDir()
		text := gobench(t, s, 4, "-o", out+"/r.json", "-o", out+"/r.xml", "-o", out+"/r.md", "-o", out+"/r.csv", "--threshold", "lines.latency p50 < 1s", "--threshold", "lines.failed rate < 1%")
		r := binary.ReadResult(t, out+"/r.json")
		s.agrees(t, r)
		failed := s.busy.Load() + s.closed.Load() + s.hangs.Load()
		headline := fmt.Sprintf("%d failed, %.1f %%: %d answered BUSY, %d eof, %d timeout", failed, float64(failed)/3, s.busy.Load(), s.closed.Load(), s.hangs.Load())
		wants(t, text, "300 requests", headline, "p50 ", "lines.latency", "lines timeout: ", " failed\n")
		for name, want := range map[string]string{"r.md": headline, "r.csv": "lines.status.BUSY", "r.xml": "lines.failed rate"} {
			b, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			wants(t, string(b), want)
		}
		if len(r.Thresholds) != 2 || !r.Thresholds[0].OK || r.Thresholds[1].OK {
			t.Errorf("thresholds %+v", r.Thresholds)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		s, c := newLineServer(t), NewHere(t, 2)
		o, file := run.Options{Parameters: map[string]string{"address": s.address}}, run.File{Path: "client.go", Data: []byte(client)}
		r := c.Finished(t, c.Submit(t, scenario, o, file), time.Minute)
		s.agrees(t, r)
		if len(r.Hosts) != 2 {
			t.Errorf("%d hosts", len(r.Hosts))
		}
		o.Split = run.SplitLink // these agents reach their master by the loopback device
		r = c.Finished(t, c.Submit(t, scenario, o, file), time.Minute)
		wants(t, r.Cause, "does not know the speed of the network device")
		o.Split = run.SplitCPUs
		o.Guards.ErrorRate = 0.05
		r = c.Finished(t, c.Submit(t, scenario, o, file), time.Minute)
		wants(t, r.Cause, "of the operations of lines failed")
	})
}
