package servers

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

func TestFaults(t *testing.T) {
	NoLeaks(t)
	s := Faults(t, func(p *Peer) {
		switch request := p.Request(); p.N {
		case 0:
			p.Drip(request)
			p.HalfClose()
			p.Hold()
		case 1:
			p.Reset()
		case 2:
			p.Hold()
		}
	})
	const request = "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody"
	dial := func() net.Conn {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, request)
		return c
	}
	echoed := dial()
	defer echoed.Close()
	if got, err := io.ReadAll(echoed); string(got) != request || err != nil {
		t.Errorf("echo = %q, %v", got, err)
	}
	reset := dial()
	defer reset.Close()
	if _, err := reset.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after Reset: %v", err)
	}
	held := dial() // the test's end must not wait for it
	t.Cleanup(func() { held.Close() })
	if n := s.Accepted(); n < 2 {
		t.Errorf("accepted = %d", n)
	}
}
