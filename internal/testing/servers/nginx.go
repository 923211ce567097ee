package servers

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// NginxServer is a running nginx with one worker.
type NginxServer struct {
	URL   string         // http://127.0.0.1:PORT
	TLS   string         // https://127.0.0.1:PORT
	H2C   string         // http://127.0.0.1:PORT, which speaks HTTP/2 alone
	H2    string         // https://127.0.0.1:PORT, which speaks HTTP/2 and 1.1
	Roots *x509.CertPool // who signed the certificate

	dir    string
	stderr bytes.Buffer
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has ended
	stop   sync.Once
}

// Index is nginx's page at "/", as long as the one that nginx brings along.
var Index = strings.Repeat("<p>gobench</p>\n", 41)

// BigSize is the length of the file at "/big", in bytes.
const BigSize = 8 << 20

// nginxConf is completed by the ports and by what a test adds to the server block.
const nginxConf = `
%s
worker_processes 1;
master_process off;
daemon off;
pid nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
	log_format t '$request_method $request_uri $status $connection_requests $body_bytes_sent $ssl_session_reused';
	access_log access.log t;
	client_body_temp_path tmp/body;
	proxy_temp_path tmp/proxy;
	fastcgi_temp_path tmp/fastcgi;
	uwsgi_temp_path tmp/uwsgi;
	scgi_temp_path tmp/scgi;
	types { text/html html; }
	default_type application/octet-stream;
	keepalive_requests 1000000000;
	keepalive_timeout 1h;
	client_max_body_size 64m;
	ssl_certificate cert.pem;
	ssl_certificate_key key.pem;
	ssl_session_cache shared:t:1m;
	server {
		listen 127.0.0.1:%d backlog=4096;
		listen 127.0.0.1:%d ssl backlog=4096;
		listen 127.0.0.1:%d http2 backlog=4096;
		listen 127.0.0.1:%d ssl http2 backlog=4096;
		root html;
		location = /server-id { return 200 "%s"; }
		location /status/204 { return 204; }
		location /status/301 { return 301 /; }
		location /status/404 { return 404; }
		location /status/500 { return 500; }
		location /chunked/ { ssi on; alias html/; }
		location /close/ { keepalive_timeout 0; alias html/; }
		location /put/ { dav_methods PUT DELETE; create_full_put_path on; }
		%s
	}
}
`

// Nginx starts an nginx that serves, over plain HTTP and TLS, HTTP/1.1 and 2: "/"
// ([Index]), "/big" ([BigSize] bytes), "/status/204", "/status/301", "/status/404",
// "/status/500", "/chunked/" (Index in chunks), "/close/" (Index, then the connection is
// closed) and files under "/put/" that PUT makes and DELETE removes. Lines of conf are
// added to its server block. It answers when Nginx returns, and is stopped at the test's
// end.
func Nginx(t testing.TB, conf ...string) *NginxServer {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Fatal("nginx is not installed: sudo apt-get install nginx-light")
		}
	}
	s := &NginxServer{dir: t.TempDir()}
	ca := NewCA(t)
	s.Roots = ca.Pool()
	cert, key := ca.PEM(t, Leaf{})
	s.write(t, "cert.pem", cert)
	s.write(t, "key.pem", key)
	s.write(t, "html/index.html", []byte(Index))
	s.write(t, "html/big", bytes.Repeat([]byte("0123456789abcdef"), BigSize/16))
	for _, sub := range []string{"html/put", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.Stop(t) })
	// A port that was free may be taken when nginx asks for it: try others then.
	for range 10 {
		if err = s.start(t, path, strings.Join(conf, "\n")); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// write writes a file in the server's folder, whose name may have folders in it.
func (s *NginxServer) write(t testing.TB, name string, data []byte) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// start runs nginx on free ports and waits, at most 20 s, until it answers there. Its
// certificate and pages must be in s.dir; start writes nginx.conf, with lines of conf in the
// server block, and sets the URLs. After an error nginx does not run, and start may be called
// again.
func (s *NginxServer) start(t testing.TB, path, conf string) error {
	t.Helper()
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	user := "" // only root may say whom to run as, and must: its files are its own
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	plain, secure := ports[0], ports[1]
	id := fmt.Sprintf("%s %d", t.Name(), plain)
	s.write(t, "nginx.conf", fmt.Appendf(nil, nginxConf, user, plain, secure, ports[2], ports[3], id, conf))
	s.stderr.Reset()
	s.cmd = exec.Command(path, "-p", s.dir, "-c", "nginx.conf", "-e", "stderr")
	s.cmd.Stderr = &s.stderr
	s.cmd.SysProcAttr = dieWithParent
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", plain)
	s.TLS = fmt.Sprintf("https://127.0.0.1:%d", secure)
	s.H2C = fmt.Sprintf("http://127.0.0.1:%d", ports[2])
	s.H2 = fmt.Sprintf("https://127.0.0.1:%d", ports[3])
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case <-s.ended:
			return fmt.Errorf("nginx ended: %s", &s.stderr)
		case <-time.After(5 * time.Millisecond):
			if ask(plain) == id {
				return nil
			}
		}
	}
	s.cmd.Process.Kill()
	<-s.ended
	return fmt.Errorf("nginx does not answer: %s", &s.stderr)
}

// ask returns the body of /server-id at a port of 127.0.0.1, or what has arrived of it after a
// second; "" if it cannot connect.
func ask(port int) string {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	io.WriteString(c, "GET /server-id HTTP/1.0\r\n\r\n")
	answer, _ := io.ReadAll(c)
	_, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	return string(body)
}

// Stop ends nginx, and waits for that: after 10 s it kills it and fails the test. Further
// calls do nothing.
func (s *NginxServer) Stop(t testing.TB) {
	s.stop.Do(func() {
		if s.ended == nil {
			return
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("stop nginx: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		select {
		case <-s.ended:
		case <-ctx.Done():
			t.Errorf("nginx did not end; killed: %s", &s.stderr)
			s.cmd.Process.Kill()
			<-s.ended
		}
	})
}

// Pid is that of nginx, which is one process.
func (s *NginxServer) Pid() int { return s.cmd.Process.Pid }

// Log stops nginx, so that everything is written, and returns its access log: a line
// "METHOD URI STATUS NTH-OF-CONNECTION BODY-BYTES TLS" a request, where TLS is "-"
// without it, "." with a new session and "r" with one that was resumed. Requests to
// /server-id are left out.
func (s *NginxServer) Log(t testing.TB) []string {
	t.Helper()
	s.Stop(t)
	data, err := os.ReadFile(filepath.Join(s.dir, "access.log"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if !strings.Contains(line, " /server-id ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
