package conn

import (
	"bytes"
	"net"
	"testing"
	"time"
)

// scripted is a connection whose other side sends a text, whatever it receives.
type scripted struct{ *bytes.Reader }

func (scripted) Write(p []byte) (int, error)      { return len(p), nil }
func (scripted) Close() error                     { return nil }
func (scripted) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (scripted) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (scripted) SetDeadline(time.Time) error      { return nil }
func (scripted) SetReadDeadline(time.Time) error  { return nil }
func (scripted) SetWriteDeadline(time.Time) error { return nil }

// Whatever a proxy answers, there is a tunnel only if its answer confirms it, and the bytes
// after the answer are left for the target's protocol.
func FuzzProxyAnswers(f *testing.F) {
	f.Add(false, []byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Add(false, []byte("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nno\n"))
	f.Add(true, []byte("\x05\x02\x01\x00\x05\x00\x00\x01\x0a\x00\x00\x01\x00\x50rest"))
	f.Add(true, []byte("\x05\x02\x01\x00\x05\x00\x00\x03\x01x\x00\x50"))
	f.Add(true, []byte("\x05\xff"))
	p, err := ParseProxy("http://me:pw@a", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, socks bool, answer []byte) {
		c := New(scripted{bytes.NewReader(answer)})
		defer c.Drop()
		if !socks {
			if err := p.connect(c, "a.test:80"); err == nil {
				if !bytes.HasPrefix(answer, []byte("HTTP/1.")) || answer[9] != '2' || !bytes.HasSuffix(answer, []byte("\r\n\r\n")) {
					t.Errorf("opened by %q", answer)
				}
			}
			return
		}
		if err := p.socks5(t.Context(), c, "a.test:80"); err != nil {
			return
		}
		if !bytes.HasPrefix(answer, []byte("\x05\x02")) || answer[3] != 0 || answer[5] != 0 {
			t.Errorf("opened by %q", answer)
		}
	})
}
