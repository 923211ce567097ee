package servers

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// ForwardProxy is an HTTP or SOCKS 5 proxy that records its requests.
type ForwardProxy struct {
	Addr string // 127.0.0.1:PORT

	server *FaultServer
	auth   string // "user:password"; "": no authentication
	mu     sync.Mutex
	asked  []string
}

// Asked returns the requests so far, such as "CONNECT host:port" or "GET http://host/path";
// of an HTTP proxy those without the right password too, as "refused GET ...".
func (p *ForwardProxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// Accepted returns how many connections the proxy has accepted.
func (p *ForwardProxy) Accepted() int { return p.server.Accepted() }

func (p *ForwardProxy) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, fmt.Sprintf(format, args...))
}

// HTTPProxy starts an HTTP proxy, over TLS if config is not nil, that requires auth
// ("user:password") unless that is empty: else it answers 407 and closes the connection. It
// accepts CONNECT and whole URLs with a port, and answers 502 if there is no port or the
// target cannot be reached.
func HTTPProxy(t testing.TB, auth string, config *tls.Config) *ForwardProxy {
	t.Helper()
	p := &ForwardProxy{auth: auth}
	p.server = Faults(t, func(peer *Peer) {
		if config != nil {
			tc := tls.Server(peer.Conn, config)
			defer tc.Close()
			peer.Conn = tc
		}
		p.serveHTTP(peer)
	})
	p.Addr = p.server.Addr
	return p
}

// serveHTTP answers a connection's requests until it ends, one is answered with 407 or 502, or
// CONNECT has passed on all. A request whose target breaks off is not answered. The caller
// closes the connection.
func (p *ForwardProxy) serveHTTP(peer *Peer) {
	r := bufio.NewReader(peer)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.auth)); p.auth != "" && req.Header.Get("Proxy-Authorization") != want {
			p.note("refused %s %s", req.Method, req.RequestURI)
			peer.Send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
			return
		}
		p.note("%s %s", req.Method, req.RequestURI)
		up, err := net.Dial("tcp", req.URL.Host)
		if err != nil {
			peer.Send("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if req.Method == "CONNECT" {
			peer.Send("HTTP/1.1 200 Connection established\r\n\r\n")
			p.pipe(peer, up)
			return
		}
		req.Header.Del("Proxy-Authorization")
		if req.Write(up) == nil {
			if resp, err := http.ReadResponse(bufio.NewReader(up), req); err == nil {
				_ = resp.Write(peer)
			}
		}
		up.Close()
	}
}

// SOCKSProxy starts a SOCKS 5 proxy that requires auth ("user:password") unless that is
// empty. hosts has the IP address to connect to for a name; names and addresses that are
// not in it are used as they are, names as this machine's resolver knows them.
func SOCKSProxy(t testing.TB, auth string, hosts map[string]string) *ForwardProxy {
	t.Helper()
	p := &ForwardProxy{auth: auth}
	p.server = Faults(t, func(peer *Peer) { p.serveSOCKS(peer, hosts) })
	p.Addr = p.server.Addr
	return p
}

// serveSOCKS serves one connection (RFC 1928, RFC 1929). It returns without an answer at a
// message that is cut off or of another version. The caller closes the connection.
func (p *ForwardProxy) serveSOCKS(peer *Peer, hosts map[string]string) {
	var failed error
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(peer, b); err != nil {
			failed = err
		}
		return b
	}
	method := byte(0)
	if p.auth != "" {
		method = 2
	}
	hello := read(2)
	offered := read(int(hello[1]))
	switch {
	case failed != nil || hello[0] != 5:
		return
	case bytes.IndexByte(offered, method) < 0:
		peer.Send("\x05\xff")
		return
	}
	peer.Send("\x05" + string(method))
	if method == 2 {
		version := read(1)[0]
		user, password := read(int(read(1)[0])), read(int(read(1)[0]))
		switch {
		case failed != nil || version != 1:
			return
		case string(user)+":"+string(password) != p.auth:
			peer.Send("\x01\x01")
			return
		}
		peer.Send("\x01\x00")
	}
	request := read(4) // version, command, reserved, type of address
	var host string
	switch request[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 4:
		host = net.IP(read(16)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	}
	port := fmt.Sprint(binary.BigEndian.Uint16(read(2)))
	refuse := func(code string) { peer.Send("\x05" + code + "\x00\x01\x00\x00\x00\x00\x00\x00") }
	switch {
	case failed != nil || request[0] != 5:
		return
	case request[1] != 1: // not CONNECT
		refuse("\x07")
		return
	case host == "":
		refuse("\x08") // the type of address is unknown
		return
	}
	p.note("CONNECT %s", net.JoinHostPort(host, port))
	if ip, ok := hosts[host]; ok {
		host = ip
	}
	up, err := net.Dial("tcp", net.JoinHostPort(host, port))
	if err != nil {
		refuse("\x05")
		return
	}
	peer.Send("\x05\x00\x00\x03\x01x\x00\x00") // from a name, as any may be
	p.pipe(peer, up)
}

// pipe carries bytes both ways until one side ends, and closes both.
func (p *ForwardProxy) pipe(peer *Peer, up net.Conn) {
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(peer, up)
		peer.Close()
	})
	_, _ = io.Copy(up, peer)
	up.Close()
	back.Wait()
}
