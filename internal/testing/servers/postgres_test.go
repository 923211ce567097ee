package servers

import (
	"os"
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
