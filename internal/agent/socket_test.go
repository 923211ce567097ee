package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/executor"
)

func TestTheSocketIsForThisUserAlone(t *testing.T) {
	for _, tmp := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 30))} {
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", tmp)
		dir, err := privateDir()
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := serve(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		for path, want := range map[string]os.FileMode{dir: 0o700, s.path: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v %v, want mode %o", path, info.Mode(), err, want)
			}
		}
	}
}

func TestSocketEnvIsTheExecutors(t *testing.T) {
	if socketEnv != executor.SocketEnv {
		t.Errorf("%s here, %s in the executor", socketEnv, executor.SocketEnv)
	}
}
