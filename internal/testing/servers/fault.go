package servers

import (
	"bytes"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// FaultServer accepts connections and runs its script for each.
type FaultServer struct {
	Addr string // 127.0.0.1:PORT
	URL  string // http://127.0.0.1:PORT

	listener net.Listener
	accepted atomic.Int64
	scripts  sync.WaitGroup

	mu    sync.Mutex
	peers map[net.Conn]bool
	over  chan struct{}
}

// Peer is the server's end of a connection. Its methods return silently when the connection
// breaks, since scripts do not handle errors.
type Peer struct {
	N int // how many connections the server had accepted before this one
	net.Conn
	unread []byte
	over   <-chan struct{} // closed at the test's end
}

// Faults starts a server that runs script for each connection, in a goroutine of its own,
// and closes the connection when it returns. At the test's end all connections are closed,
// and the end waits for the scripts.
func Faults(t testing.TB, script func(p *Peer)) *FaultServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &FaultServer{
		Addr: l.Addr().String(), URL: "http://" + l.Addr().String(),
		listener: l, peers: map[net.Conn]bool{}, over: make(chan struct{}),
	}
	s.scripts.Go(func() { s.accept(script) })
	t.Cleanup(s.close)
	return s
}

// Accepted returns how many connections the server has accepted.
func (s *FaultServer) Accepted() int { return int(s.accepted.Load()) }

// accept runs script for each connection until the listener is closed.
func (s *FaultServer) accept(script func(*Peer)) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		p := &Peer{N: int(s.accepted.Add(1) - 1), Conn: c, over: s.over}
		s.mu.Lock()
		select {
		case <-s.over:
			c.Close()
		default:
		}
		s.peers[c] = true
		s.mu.Unlock()
		s.scripts.Go(func() {
			script(p)
			c.Close()
			s.mu.Lock()
			delete(s.peers, c)
			s.mu.Unlock()
		})
	}
}

// close closes the listener and all connections, and waits for the scripts. Call it once.
func (s *FaultServer) close() {
	s.listener.Close()
	s.mu.Lock()
	close(s.over)
	for c := range s.peers {
		c.Close()
	}
	s.mu.Unlock()
	s.scripts.Wait()
}

// Request reads one request, its body by Content-Length, and returns it as it came; if the
// connection ends before, the part that arrived, or "".
func (p *Peer) Request() string {
	for {
		if i := bytes.Index(p.unread, []byte("\r\n\r\n")); i >= 0 {
			if n := i + 4 + contentLength(p.unread[:i]); n <= len(p.unread) {
				request := string(p.unread[:n])
				p.unread = p.unread[n:]
				return request
			}
		}
		b := make([]byte, 32<<10)
		n, err := p.Read(b)
		if err != nil {
			return string(p.unread)
		}
		p.unread = append(p.unread, b[:n]...)
	}
}

// contentLength returns the number of the first Content-Length in a request's head; 0 if it
// has no such line, or one without a number.
func contentLength(head []byte) int {
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(line, ":")
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Length" {
			n, _ := strconv.Atoi(strings.TrimSpace(value))
			return n
		}
	}
	return 0
}

// Send writes the parts, each in a write of its own, until a write fails.
func (p *Peer) Send(parts ...string) {
	for _, s := range parts {
		if _, err := io.WriteString(p, s); err != nil {
			return
		}
	}
}

// Drip writes s one byte at a time.
func (p *Peer) Drip(s string) {
	for i := range len(s) {
		p.Send(s[i : i+1])
	}
}

// Hold says nothing more until the other side goes away or the test ends.
func (p *Peer) Hold() { _, _ = io.Copy(io.Discard, p) }

// Reset breaks the connection off: the other side receives a RST, not an end.
func (p *Peer) Reset() {
	_ = p.Conn.(*net.TCPConn).SetLinger(0)
	p.Close()
}

// HalfClose ends what this side says and lets the other side talk on.
func (p *Peer) HalfClose() { _ = p.Conn.(*net.TCPConn).CloseWrite() }

// WriteString writes s and returns the error of the write.
func (p *Peer) WriteString(s string) error {
	_, err := io.WriteString(p, s)
	return err
}

// Head reads the head of a request and leaves its body unread; if the connection ends
// before, it returns the part that arrived. It must not follow Request, which may have read
// further.
func (p *Peer) Head() string {
	var head []byte
	b := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := io.ReadFull(p, b); err != nil {
			break
		}
		head = append(head, b[0])
	}
	return string(head)
}

// Wait says and reads nothing more until the test ends.
func (p *Peer) Wait() { <-p.over }
