package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// page is the server's page: 615 bytes, like nginx's own welcome page.
var page = "<!DOCTYPE html>\n<html>\n<head><title>Bench</title></head>\n<body>\n<p>" +
	strings.Repeat("all work and no play. ", 23) + strings.Repeat(".", 21) + "</p>\n</body>\n</html>\n"

const nginxConf = `%[1]s
worker_processes 1;
daemon off;
pid nginx.pid;
error_log error.log warn;
worker_rlimit_nofile %[2]d;
events { worker_connections %[3]d; multi_accept off; }
http {
  types { text/html html; }
  access_log off;
  sendfile on;
  tcp_nodelay on;
  keepalive_timeout 3600s;
  keepalive_requests 1000000000;
  keepalive_time 24h;
  open_file_cache max=100;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_max_body_size 0;
  root html;
  ssl_certificate cert.pem;
  ssl_certificate_key key.pem;
  ssl_protocols TLSv1.3;
  server {
    listen %[4]s backlog=4096;
    location = /post { return 200 "ok\n"; }
  }
  server {
    listen %[5]s ssl backlog=4096;
    ssl_session_cache off;
    ssl_session_tickets off;
  }
  server {
    listen %[6]s ssl backlog=4096;
    ssl_session_tickets on;
  }
  server {
    listen %[7]s http2 backlog=4096;
    sendfile off; # else a head waits for its body 40 ms (Nagle and delayed acknowledgements)
  }
}
`

// An nginx is a server in a new temporary directory, on four free loopback ports. It
// serves its page by HTTP, by TLS 1.3 and by HTTP/2, and at /post accepts bodies of any
// size, which it discards. The caller must call stop.
type nginx struct {
	addr    string
	tls     string // address where each TLS session is new
	resumed string // address where TLS sessions are resumed
	h2c     string // address of HTTP/2 without TLS
	version string
	dir     string
	cmd     *exec.Cmd
	done    chan error
}

// startNginx starts nginx, which must be installed, with one worker and returns when it
// answers. If another process takes a port in between, or another error occurs, it retries
// with other ports, three attempts in all. The end of ctx ends only the start, with ctx.Err(),
// wrapped.
func startNginx(ctx context.Context) (*nginx, error) {
	var err error
	for range 3 {
		var n *nginx
		if n, err = tryNginx(ctx); err == nil {
			return n, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start nginx: %w", err)
}

// tryNginx is one attempt of startNginx: it waits at most 5 s for an answer. On an error
// (ctx.Err() when ctx ends) nothing is left running, and its directory is removed.
func tryNginx(ctx context.Context) (_ *nginx, err error) {
	n := &nginx{done: make(chan error, 1), version: "nginx " + debianVersion(ctx, "nginx")}
	if n.dir, err = os.MkdirTemp("", "gobench-bench-nginx-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			n.stop()
		}
	}()
	for _, addr := range []*string{&n.addr, &n.tls, &n.resumed, &n.h2c} {
		if *addr, err = freeAddr(); err != nil {
			return nil, err
		}
	}
	cert, key, err := certificate()
	if err != nil {
		return nil, err
	}
	// Twice as many connections as files: it closes idle ones when only a sixteenth is
	// left.
	files := openFiles()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // the worker reads a directory that only we can read
	}
	if err := os.Mkdir(filepath.Join(n.dir, "html"), 0o755); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"nginx.conf":      fmt.Sprintf(nginxConf, user, files, 2*files, n.addr, n.tls, n.resumed, n.h2c),
		"html/index.html": page,
		"cert.pem":        cert,
		"key.pem":         key,
	} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}

	errs := filepath.Join(n.dir, "error.log")
	n.cmd = exec.Command("nginx", "-p", n.dir, "-c", filepath.Join(n.dir, "nginx.conf"), "-e", errs)
	if err := n.cmd.Start(); err != nil {
		n.cmd = nil
		return nil, err
	}
	go func() { n.done <- n.cmd.Wait() }()
	for deadline := time.Now().Add(5 * time.Second); ; {
		select {
		case e := <-n.done:
			n.done <- e // for stop
			said, _ := os.ReadFile(errs)
			return nil, fmt.Errorf("%v: %s", e, tail(said, 2000))
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if c, err := net.Dial("tcp", n.addr); err == nil {
			c.Close()
			if len(n.pids()) > 1 { // the worker has started
				return n, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no answer on %s in 5 s", n.addr)
		}
	}
}

func (n *nginx) url() string { return "http://" + n.addr + "/" }

// certificate creates a self-signed certificate for 127.0.0.1 (ECDSA P-256), valid for a
// day, and its key, both in PEM.
func certificate() (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "bench"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", secret), nil
}

// pids are those of the master process, which does nothing, and its worker.
func (n *nginx) pids() []int { return descendants(n.cmd.Process.Pid) }

// pin moves the server's processes to the given CPUs; if empty, to all that we may use.
func (n *nginx) pin(cpus []int) error {
	if len(cpus) == 0 {
		cpus = allowedCPUs()
	}
	for _, pid := range n.pids() {
		if err := pin(pid, cpus); err != nil {
			return err
		}
	}
	return nil
}

// stop sends SIGTERM, after 5 s kills the server, waits until it has ended and removes its
// directory. Call it once.
func (n *nginx) stop() {
	if n.cmd != nil {
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-n.done:
		case <-time.After(5 * time.Second):
			_ = n.cmd.Process.Kill()
			<-n.done
		}
	}
	os.RemoveAll(n.dir)
}

// freeAddr returns a loopback address, as 127.0.0.1:PORT, that is free at the moment;
// another process may take it.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
