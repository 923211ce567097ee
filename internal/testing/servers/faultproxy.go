package servers

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what a FaultProxy does to an answer.
type Fault int

const (
	NoFault   Fault = iota
	Delay           // it comes FaultDelay late, but whole
	Hold            // it never comes
	Reset           // the connection is reset instead
	ResetBody       // the connection is reset within the body
	CutBody         // the connection ends within the body
	CutHead         // the connection ends within the head
	Drip            // it comes a byte each 20 ms
	Garbage         // something comes that is no HTTP
	HalfOpen        // nothing comes, and the proxy reads no more either
	Huge            // a body of 10 GB is announced and begun
)

// FaultDelay is how long Delay delays.
const FaultDelay = 50 * time.Millisecond

// FaultProxy is a proxy in front of a real HTTP/1.1 server that injects faults into its
// answers, and counts them.
type FaultProxy struct {
	Addr string // 127.0.0.1:PORT
	URL  string // http://127.0.0.1:PORT

	upstream string
	fault    atomic.Int32
	injected atomic.Int64
	passed   atomic.Int64
	served   sync.WaitGroup
	over     chan struct{}

	mu       sync.Mutex
	listener net.Listener // nil while down
	peers    map[*net.TCPConn]bool
}

// Breaking starts a proxy, without a fault, in front of the server at addr ("host:port").
// At the test's end its connections are closed.
func Breaking(t testing.TB, addr string) *FaultProxy {
	t.Helper()
	p := &FaultProxy{Addr: "127.0.0.1:0", upstream: addr, peers: map[*net.TCPConn]bool{}, over: make(chan struct{})}
	p.Up(t)
	p.URL = "http://" + p.Addr
	t.Cleanup(func() {
		close(p.over)
		p.Down()
		p.served.Wait()
	})
	return p
}

// Set makes each answer from now on meet a fault.
func (p *FaultProxy) Set(f Fault) { p.fault.Store(int32(f)) }

// Injected returns the number of answers with a fault.
func (p *FaultProxy) Injected() int64 { return p.injected.Load() }

// Passed returns the number of answers that were passed on unchanged.
func (p *FaultProxy) Passed() int64 { return p.passed.Load() }

// Down closes the listener and all connections: new connections are refused until Up.
func (p *FaultProxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	for c := range p.peers {
		c.Close()
	}
}

// Up listens again, at the same port, after Down; it fails the test if it cannot.
func (p *FaultProxy) Up(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.Addr = l, l.Addr().String()
	p.mu.Unlock()
	p.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tc := c.(*net.TCPConn)
			p.mu.Lock()
			p.peers[tc] = true
			if p.listener != l {
				c.Close()
			}
			p.mu.Unlock()
			p.served.Go(func() {
				p.serve(tc)
				c.Close()
				p.mu.Lock()
				delete(p.peers, tc)
				p.mu.Unlock()
			})
		}
	})
}

// serve passes a connection's requests on, in turn, and answers them until one of them meets a
// fault that ends it, or either side ends or breaks. It returns at once if the server cannot
// be reached. The caller closes c.
func (p *FaultProxy) serve(c *net.TCPConn) {
	up, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	defer up.Close()
	in, back := bufio.NewReader(c), bufio.NewReader(up)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if err := req.Write(up); err != nil {
			return
		}
		resp, err := http.ReadResponse(back, req)
		if err != nil {
			return
		}
		var head, body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			return
		}
		resp.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
		_ = resp.Write(&head) // head and body; a Buffer takes all
		if !p.answer(c, Fault(p.fault.Load()), head.Bytes(), body.Len()) {
			return
		}
	}
}

// answer sends an answer, of whose body the length is body, with a fault, and reports
// whether the connection stays open: only without a fault or with Delay. It may wait until
// the client closes (Hold, Huge) or the test ends (HalfOpen).
func (p *FaultProxy) answer(c *net.TCPConn, f Fault, answer []byte, body int) bool {
	send := func(b []byte) { _, _ = c.Write(b) } // the client may have gone
	if f == NoFault {
		p.passed.Add(1)
		send(answer)
		return true
	}
	p.injected.Add(1)
	half := len(answer) - body/2
	switch f {
	case Delay:
		select {
		case <-time.After(FaultDelay):
		case <-p.over:
		}
		send(answer)
		return true
	case Hold:
		_, _ = io.Copy(io.Discard, c)
	case Reset:
		_ = c.SetLinger(0)
	case ResetBody:
		send(answer[:half])
		_ = c.SetLinger(0)
	case CutBody:
		send(answer[:half])
	case CutHead:
		send(answer[:12])
	case Drip:
		for i := range answer {
			if _, err := c.Write(answer[i : i+1]); err != nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	case Garbage:
		send([]byte("\x16\x03\x01 garbage\r\n\r\n"))
	case HalfOpen:
		<-p.over
	case Huge:
		send([]byte("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"))
		part := make([]byte, 64<<10)
		for {
			if _, err := c.Write(part); err != nil {
				break
			}
		}
	}
	return false
}
