//go:build linux

package truth

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
)

func TestMain(m *testing.M) {
	if os.Getenv(hiccupEnv) != "" {
		hiccupMain()
		return
	}
	tests := 4 // the short forms assert counts and lower bounds, which a busy machine does not change
	if long.Run {
		tests = 1 // the full size measures
	}
	binary.InParallel(tests)
	os.Exit(m.Run())
}

// measured is a run of gobench: its result, what the machine did meanwhile, and the
// greatest resident memory of its executor.
type measured struct {
	*run.Result
	host *observer
	peak int64 // bytes
}

// measure runs gobench with args in a shell, after the shell commands before. It calls
// during, unless it is nil, with gobench's process id once there is load.
func measure(t *testing.T, before string, during func(gobench int), args ...string) *measured {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	args = append([]string{"-c", before + ` exec "$0" "$@"`, binary.Gobench(t), "--dir", dir}, append(args, "-q", "-o", out)...)
	cmd := exec.CommandContext(t.Context(), "sh", args...)
	cmd.Env = append(os.Environ(), binary.NoWarm)
	var text, said strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &measured{host: newObserver(t, cmd.Process.Pid)}
	if during != nil {
		binary.WaitForLoad(t, dir)
		during(cmd.Process.Pid)
	}
	err := cmd.Wait()
	m.peak = m.host.end()
	if err != nil {
		t.Fatalf("gobench: %v\n%s%s", err, said.String(), text.String())
	}
	m.Result = binary.ReadResult(t, out)
	// The verdict is the first line below the headline.
	if _, rest, _ := strings.Cut(strings.TrimSpace(text.String()), "\n\n"); m.Verdict != run.Valid && !strings.HasPrefix(rest, string(m.Verdict)) {
		t.Errorf("the report does not say that it is %s below its headline:\n%s", m.Verdict, text.String())
	}
	return m
}

// times returns a distribution of a result, in milliseconds. It fails the test if the
// result has no such distribution.
func (m *measured) times(t *testing.T, title string) *run.Times {
	t.Helper()
	for _, x := range m.Metrics {
		if x.Title == title && x.Times != nil {
			return x.Times
		}
	}
	t.Fatalf("the result has no distribution %s", title)
	return nil
}
