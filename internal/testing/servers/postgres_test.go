//go:build unix

package servers

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPostgresEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var s *PostgresServer
	t.Run("server", func(t *testing.T) {
		s = Postgres(t)
		s.Database(t)
		if err := s.Exec("CREATE TABLE x (y BIGINT)"); err != nil {
			t.Fatal(err)
		}
	})
	if err := s.Exec("SELECT 1"); err == nil {
		t.Error("it answers after its test")
	}
	if err := syscall.Kill(s.Pid(), 0); err == nil {
		t.Error("its process is there after its test")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("its data is there after its test: %v", err)
	}
}

// Only a port that is taken makes it try again: any other failure is reported at once.
func TestPostgresThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"could not bind IPv4 address \"127.0.0.1\": Address already in use": 10,
		"could not access the server configuration file":                    1,
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\necho x >> tries\necho '" + text + "' >&2\nexit 1\n"
		syscall.ForkLock.RLock() // a process that is started now would have the file open, and it could not be executed
		err := os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o700)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		s := &PostgresServer{bin: dir, dir: dir, uid: -1}
		if err := s.start(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error is %v", text, err)
		}
		tries, err := os.ReadFile(filepath.Join(dir, "tries"))
		if n := strings.Count(string(tries), "x"); err != nil || n != want {
			t.Errorf("%s: it was started %d times, want %d (%v)", text, n, want, err)
		}
	}
}
