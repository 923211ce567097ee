package process

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor"
)

func TestTheSocketIsForThisUserAlone(t *testing.T) {
	for _, tmp := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 30))} {
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", tmp)
		dir, s := serveHere(t)
		for path, want := range map[string]os.FileMode{dir: 0o700, s.path: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v %v, want mode %o", path, info.Mode(), err, want)
			}
		}
	}
}

// serveHere serves on a socket in a private folder until the test's end.
func serveHere(t *testing.T) (dir string, s *server) {
	t.Helper()
	dir, err := privateDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if s, err = serve(filepath.Join(dir, "s"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return dir, s
}

func TestSocketEnvIsTheExecutors(t *testing.T) {
	if socketEnv != executor.SocketEnv {
		t.Errorf("%s here, %s in the executor", socketEnv, executor.SocketEnv)
	}
}

// Only the process that was started may attach, though others find the socket.
func TestAnotherProcessMayNotAttach(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]struct{ pid, uid int }{
		"another process": {os.Getppid(), os.Getuid()},
		"another user":    {os.Getpid(), os.Getuid() + 1},
		"the right one":   {os.Getpid(), os.Getuid()},
	} {
		_, s := serveHere(t)
		c, err := net.Dial("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.expect(who.pid, who.uid)
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err = c.Read(make([]byte, 1)) // a server's preface, or the end
		if attached := err == nil; attached != (name == "the right one") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
