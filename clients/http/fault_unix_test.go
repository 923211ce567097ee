//go:build unix

package http

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// F28: no file descriptor is left, in a separate process.
func TestLocalFD(t *testing.T) {
	t.Parallel()
	if url := os.Getenv("GOBENCH_TEST_LOCAL_FD"); url != "" {
		ctx, rec := executortest.Context(t)
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		usual := limit
		limit.Cur = 64
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual)
		c, err := NewHttpClient(ctx, "home")
		if err != nil {
			t.Fatal(err)
		}
		const calls = 100
		done := make(chan bool, calls)
		for range calls {
			go func() { _ = c.GetIgnoreRes(ctx, url, nil); done <- true }()
		}
		waitFor(t, func() bool {
			return rec.Counts("home.")["http_other_fail"]+rec.Counts("home.")["connections_opened"] >= calls
		})
		c.Close()
		got := outcomes(rec)
		if n := got["error.local_fd"]; n < calls-64 || n != got["http_other_fail"] || len(got) != 2 {
			t.Errorf("counts %v", got)
		}
		fmt.Println(rec.Errors("home"))
		limit.Cur = usual.Cur
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		after, err := NewHttpClient(ctx, "after")
		if err != nil {
			t.Fatal(err)
		}
		if err := after.GetIgnoreRes(ctx, servers.Faults(t, serve).URL, nil); err != nil {
			t.Errorf("with files again: %v", err)
		}
		return
	}
	s := servers.Faults(t, (*servers.Peer).Hold)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocalFD$", "-test.v")
	cmd.Env = append(os.Environ(), "GOBENCH_TEST_LOCAL_FD="+s.URL)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "local_fd: dial tcp "+s.Addr+": socket: too many open files") {
		t.Errorf("%v\n%s", err, out)
	}
}
