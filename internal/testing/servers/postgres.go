package servers

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresServer is a running PostgreSQL with a folder of its own.
type PostgresServer struct {
	bin, dir, password string
	port, uid, gid     int
	output             bytes.Buffer
	cmd                *exec.Cmd
	ended              chan struct{} // closed when the process has ended
	stop               sync.Once
	mu                 sync.Mutex
	databases          int
}

// Postgres starts a PostgreSQL on a free port of 127.0.0.1, which ends with the test. It
// answers when Postgres returns.
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	s, err := StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// StartPostgres is as Postgres, for the tests of a whole package: its TestMain must call
// Stop. After an error nothing is left behind.
func StartPostgres() (*PostgresServer, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	// A folder of the test's own would be closed to another user, and PostgreSQL refuses
	// to run as root.
	dir, err := os.MkdirTemp("", "gobench-postgres-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{bin: bin, dir: dir, password: rand.Text(), uid: -1}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// postgresBin returns the folder of the newest version's programs, which Debian does not have
// in the PATH, or else of the initdb in the PATH; an error if there is neither.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	newest, best := "", -1
	for _, path := range found {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err == nil && n > best {
			newest, best = filepath.Dir(path), n
		}
	}
	if newest != "" {
		return newest, nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	return "", errors.New("PostgreSQL is not installed: sudo apt-get install postgresql")
}

// init makes the server's data. As root it does so, and start runs the server, as the user
// postgres or, if there is no such user, as another without rights. Call it once, before
// start.
func (s *PostgresServer) init() error {
	if os.Geteuid() == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			if who, err = user.Lookup("nobody"); err != nil {
				return err
			}
		}
		if s.uid, err = strconv.Atoi(who.Uid); err != nil {
			return err
		}
		if s.gid, err = strconv.Atoi(who.Gid); err != nil {
			return err
		}
		if err := os.Chown(s.dir, s.uid, s.gid); err != nil {
			return err
		}
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.password+"\n"), 0o600); err != nil {
		return err
	}
	if s.uid >= 0 {
		if err := os.Chown(secret, s.uid, s.gid); err != nil {
			return err
		}
	}
	out, err := s.command("initdb", "--pgdata="+s.data(), "--username=gobench", "--pwfile="+secret, "--auth=scram-sha-256",
		"--encoding=UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (s *PostgresServer) data() string { return filepath.Join(s.dir, "data") }

// command returns a command of PostgreSQL's, to be run as the server's user and with an
// environment of its own.
func (s *PostgresServer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + s.dir}
	cmd.SysProcAttr = dieWithParentAs(s.uid, s.gid, syscall.SIGQUIT) // at which it ends its own processes
	return cmd
}

// errTaken means that another process took the server's port before the server did.
var errTaken = errors.New("the port is taken")

// start runs the server on a free port and waits, at most 30 s, until it answers there. It
// tries other ports, at most ten, only if one is taken. After an error no server runs.
func (s *PostgresServer) start() (err error) {
	for range 10 {
		if err = s.startOnce(); !errors.Is(err, errTaken) {
			return err
		}
	}
	return err
}

// startOnce is start with one port. The error is errTaken if another process has it. After 30
// s it calls Stop, which deletes the data too.
func (s *PostgresServer) startOnce() error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	s.port = ports[0]
	s.output.Reset()
	s.cmd = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=32MB")
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		select {
		case <-s.ended:
			if strings.Contains(s.output.String(), "Address already in use") {
				return fmt.Errorf("%w: %s", errTaken, &s.output)
			}
			return fmt.Errorf("postgres ended: %s", &s.output)
		case <-time.After(10 * time.Millisecond):
			if err = s.Exec("SELECT 1"); err == nil {
				return nil
			}
		}
	}
	return errors.Join(fmt.Errorf("postgres does not answer: %w", err), s.Stop())
}

// URL returns the URL of a database, "postgres://...", with the password.
func (s *PostgresServer) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("gobench", s.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Exec executes a statement in the database "postgres", within 30 s, in a connection of its
// own.
func (s *PostgresServer) Exec(query string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, query)
	return err
}

// Database creates an empty database and returns its URL. It may be called concurrently.
func (s *PostgresServer) Database(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases++
	name := "test" + strconv.Itoa(s.databases)
	if err := s.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

// Restore writes what a dump of pg_dump has into the empty database at a URL of the
// server's. It ends at the first statement that fails; the error has psql's output, and
// what was written stays.
func (s *PostgresServer) Restore(url string, dump io.Reader) error {
	cmd := s.command("psql", "--dbname="+url, "--quiet", "--no-psqlrc", "--output=/dev/null", "--set=ON_ERROR_STOP=1")
	cmd.Stdin = dump
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w\n%s", err, out)
	}
	return nil
}

// Pid is that of the server's first process.
func (s *PostgresServer) Pid() int { return s.cmd.Process.Pid }

// Stop ends the server, with all connections to it, and deletes its data. After 20 s it
// kills the server and returns an error. Further calls do nothing and return nil.
func (s *PostgresServer) Stop() (err error) {
	s.stop.Do(func() {
		if e := s.cmd.Process.Signal(syscall.SIGINT); e != nil && !errors.Is(e, os.ErrProcessDone) {
			err = fmt.Errorf("stop postgres: %w", e)
		}
		select {
		case <-s.ended:
		case <-time.After(20 * time.Second):
			err = fmt.Errorf("postgres did not end; killed: %s", strings.TrimSpace(s.output.String()))
			s.cmd.Process.Kill()
			<-s.ended
		}
		err = errors.Join(err, os.RemoveAll(s.dir))
	})
	return err
}
