package servers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// natsVersion is that of the module which the servers are built from.
const natsVersion = "v2.15.2"

// NATSServer is a running nats-server, a process of its own. Its methods may be called
// concurrently.
type NATSServer struct {
	Name string // n1, n2, ...
	URL  string // nats://127.0.0.1:PORT

	path, conf string
	stderr     bytes.Buffer
	mu         sync.Mutex
	cmd        *exec.Cmd
	ended      chan struct{}
}

// natsBinary returns the path of the server's program, which it builds once for all tests of
// this user.
var natsBinary = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "gobench-test", "nats-server-"+natsVersion)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	// Other tests may build it at the same moment: the last rename wins, and each is complete.
	own := fmt.Sprintf("%s.%d", path, os.Getpid())
	if out, err := exec.Command("go", "build", "-o", own, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nats-server: %w: %s", err, out)
	}
	return path, os.Rename(own, path)
})

// NATSCluster starts n nats-servers with JetStream, which make one cluster if there are
// more than one. Lines of conf are added to each one's configuration. When it returns each
// server answers; the cluster may still choose its leader. The servers are killed at the
// test's end.
func NATSCluster(t testing.TB, n int, conf string) []*NATSServer {
	t.Helper()
	binary, err := natsBinary()
	if err != nil {
		t.Fatal(err)
	}
	// A port that was free may be taken when a server asks for it: try others then.
	for range 5 {
		var servers []*NATSServer
		if servers, err = natsCluster(t, binary, n, conf); err == nil {
			return servers
		}
		for _, s := range servers {
			s.Kill()
		}
	}
	t.Fatal(err)
	return nil
}

// natsCluster starts the servers on free ports. With an error it returns those that were made,
// some of which may run: they are killed at the test's end, or earlier by the caller.
func natsCluster(t testing.TB, binary string, n int, conf string) (servers []*NATSServer, err error) {
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	var routes []string
	for _, p := range ports[n:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	for i := range n {
		dir := t.TempDir()
		s := &NATSServer{Name: fmt.Sprintf("n%d", i+1), URL: fmt.Sprintf("nats://127.0.0.1:%d", ports[i]), path: binary, conf: filepath.Join(dir, "nats.conf")}
		text := fmt.Sprintf("server_name: %s\nlisten: 127.0.0.1:%d\njetstream { store_dir: %q }\n", s.Name, ports[i], filepath.Join(dir, "data"))
		if n > 1 {
			text += fmt.Sprintf("cluster { name: test, listen: 127.0.0.1:%d, routes: [%s] }\n", ports[n+i], strings.Join(routes, ", "))
		}
		if err := os.WriteFile(s.conf, []byte(text+conf), 0o600); err != nil {
			return servers, err
		}
		servers = append(servers, s)
		t.Cleanup(s.Kill)
	}
	for _, s := range servers {
		if err := s.start(); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

// Start starts the server again after Kill, at the same port and with what it has stored,
// and waits until it answers; after 20 s it fails the test.
func (s *NATSServer) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// start runs the server, which must not run yet, and waits, at most 20 s, until it greets.
// After an error it may still run, until Kill.
func (s *NATSServer) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stderr.Reset()
	cmd, ended := exec.Command(s.path, "-c", s.conf), make(chan struct{})
	cmd.Stderr = &s.stderr
	cmd.SysProcAttr = dieWithParent
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case <-ended:
			return fmt.Errorf("nats-server ended: %s", &s.stderr)
		case <-time.After(5 * time.Millisecond):
			if greets(strings.TrimPrefix(s.URL, "nats://")) {
				return nil
			}
		}
	}
	return errors.New("nats-server does not answer")
}

// greets reports whether a NATS server at addr ("host:port") accepts a connection and begins
// to answer within a second of that.
func greets(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	b := make([]byte, 5)
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, err = io.ReadFull(c, b)
	return err == nil && string(b) == "INFO "
}

// Kill ends the server by SIGKILL and waits for its end; it does nothing if it does not
// run. The server may be started again.
func (s *NATSServer) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.ended
	s.cmd = nil
}

// NATSTLS returns the lines of a server's configuration that enable TLS, with a certificate
// of ca for 127.0.0.1, whose files exist until the test's end.
func NATSTLS(t testing.TB, ca *CA) (conf string) {
	t.Helper()
	cert, key := ca.PEM(t, Leaf{})
	dir := t.TempDir()
	for name, b := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("tls { cert_file: %q, key_file: %q }\n", filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
}
