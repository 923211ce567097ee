package processtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Gone waits until process pid is no more, or a zombie that its parent has yet to reap. After
// 30 s it fails the test at once. It needs /proc: elsewhere it returns at once.
func Gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			return
		}
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "Z") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is still there: %s", pid, b)
		}
	}
}
