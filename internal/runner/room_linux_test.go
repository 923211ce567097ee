package runner

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// rollup reads a figure of this process's memory, in bytes.
func rollup(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			var kb int64
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no %s in %s", name, b)
	return 0
}

// The room for many users takes no memory by itself; what is allocated then lies in it,
// and in huge pages where the system gives any. Few users have none.
func TestRoomForManyUsers(t *testing.T) {
	const child = "GOBENCH_TEST_ROOM" // a process of its own, as executors are: what lies in this one's heap is not known
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
		return
	}
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		t.Fatal(err)
	}
	const users = 8000
	prepare := func(n int64) {
		(&Runner{registry: meter.New(), classes: []*class{{share: &wire.Share{Nu: n}}}}).makeRoom()
	}
	runtime.GC()
	rss, huge := rollup(t, "Rss"), rollup(t, "AnonHugePages")
	prepare(manyUsers - 1)
	prepare(users)
	if grown := rollup(t, "Rss") - rss; grown > 8<<20 {
		t.Errorf("room for %d users takes %d bytes before there are any", users, grown)
	}
	var all [][]byte
	for range users {
		b := make([]byte, userRoom*3/4)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	grown := rollup(t, "AnonHugePages") - huge
	runtime.KeepAlive(all)
	t.Logf("huge pages %s: %d MB of the users' %d", strings.TrimSpace(string(mode)), grown>>20, users*userRoom*3/4>>20)
	if most := int64(users) * userRoom / 2; !strings.Contains(string(mode), "[never]") && grown < most {
		t.Errorf("%d bytes lie in huge pages, want %d at least", grown, most)
	}
}
