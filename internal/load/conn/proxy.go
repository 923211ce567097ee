package conn

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Proxy is a server to connect through. It is immutable.
type Proxy struct {
	tls            *tls.Config // of an https proxy; nil: the system's authorities, the proxy's name
	scheme         string      // http, https, socks5 or socks5h
	addr, name     string      // "host:port" and "host" of the proxy
	user, password string
	named          bool // the URL has a user
}

// ParseProxy parses "SCHEME://[USER:PASSWORD@]HOST[:PORT]". The schemes are http and https
// (CONNECT, the latter over TLS), socks5 (this host resolves the target's name) and socks5h
// (the proxy does). The default ports are 80, 443 and 1080. config is for the TLS of an https
// proxy and must not be changed afterwards; nil stands for the system's authorities. No error
// contains the password. ParseProxy does not connect.
func ParseProxy(text string, config *tls.Config) (*Proxy, error) {
	_, rest, _ := strings.Cut(text, "://")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && strings.ContainsAny(rest[:at], "/?#") { // url.Parse takes part of the password for the port or the path
		return nil, errors.New("proxy: in the user and the password, write / as %2F, ? as %3F and # as %23")
	}
	u, err := url.Parse(text)
	if err != nil { // its text may contain the password
		return nil, errors.New("proxy: not a URL: want SCHEME://[USER:PASSWORD@]HOST[:PORT]; in the user and the password, write % as %25")
	}
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
	port, ok := ports[u.Scheme]
	switch {
	case !ok:
		return nil, fmt.Errorf("proxy %s: want http://, https://, socks5:// or socks5h:// and HOST:PORT", u.Redacted())
	case u.Hostname() == "":
		return nil, fmt.Errorf("proxy %s: no host", u.Redacted())
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("proxy %s: nothing may follow the port", u.Redacted())
	}
	if u.Port() != "" {
		port = u.Port()
	}
	p := &Proxy{tls: config, scheme: u.Scheme, name: u.Hostname(), addr: net.JoinHostPort(u.Hostname(), port)}
	if u.User != nil {
		p.named, p.user = true, u.User.Username()
		p.password, _ = u.User.Password()
		if p.socks() && (p.user == "" || len(p.user) > 255 || len(p.password) > 255) {
			return nil, fmt.Errorf("proxy %s: SOCKS takes a user of 1 to 255 bytes and a password of at most 255", u.Redacted())
		}
	}
	return p, nil
}

// HTTP reports whether the proxy speaks HTTP, and so accepts whole http:// URLs besides
// CONNECT.
func (p *Proxy) HTTP() bool { return !p.socks() }

func (p *Proxy) socks() bool { return p.scheme == "socks5" || p.scheme == "socks5h" }

// Authorization returns the value of the header Proxy-Authorization; "" without a user.
func (p *Proxy) Authorization() string {
	if !p.named {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
}

// through connects to the proxy and, unless tunnel is false, asks it to connect to addr. An
// error has the class ByProxy, except for a timeout, a canceled ctx, a fault of this host, a
// destination that is not permitted, and a lookup of addr by this host. The bytes exchanged
// with the proxy are not counted. The caller owns the connection.
func (a *attempt) through(ctx context.Context, p *Proxy, addr string, tunnel bool) (*Conn, error) {
	if p.scheme != "socks5" { // where this host resolves the target
		name, port, err := splitPort(ctx, addr)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
		if err := a.permitted.Name(name, port); err != nil {
			return nil, blocked(err)
		}
	}
	c, err := a.connect(ctx, p.addr)
	if err != nil {
		return nil, proxyError(err)
	}
	c.Arm(a.began, a.deadline-a.began)
	if err = c.Begin(ctx); err == nil {
		err = a.negotiate(ctx, c, p, addr, tunnel)
		if !c.End() && ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	c.unwatch()
	if err != nil {
		c.Drop()
		return nil, proxyError(err)
	}
	c.in, c.out = 0, 0 // traffic with the proxy is not counted
	return c, nil
}

// negotiate does the TLS handshake of an https proxy at the other end of c, and then, unless
// tunnel is false, asks the proxy for a tunnel to addr; with socks5 to the first address of a
// name only. Call Arm and Begin of c before. On an error the caller drops c.
func (a *attempt) negotiate(ctx context.Context, c *Conn, p *Proxy, addr string, tunnel bool) error {
	if p.scheme == "https" {
		config := &tls.Config{ServerName: p.name}
		if p.tls != nil {
			config = p.tls.Clone()
			if config.ServerName == "" {
				config.ServerName = p.name
			}
		}
		if err := c.Handshake(config); err != nil {
			return err
		}
	}
	switch {
	case !tunnel:
		return nil
	case !p.socks():
		return p.connect(c, addr)
	case p.scheme == "socks5":
		addrs, err := a.resolve(ctx, addr)
		if err != nil {
			return &localLookup{err}
		}
		if err := a.permitted.Address(addrs[0], a.names.systemName(addr)); err != nil {
			return &localLookup{blocked(err)}
		}
		addr = addrs[0].String()
	}
	return p.socks5(ctx, c, addr)
}

// localLookup is the error of a lookup by this host, which is not the proxy's fault.
type localLookup struct{ error }

func (e *localLookup) Unwrap() error { return e.error }

// proxyError returns err as an error of the class ByProxy, whose text begins with "proxy: ".
// An error of the class Canceled, Timeout, LocalFD, LocalPort or Blocked keeps its class and
// has the same beginning; that in a localLookup is returned unchanged. err must not be nil.
func proxyError(err error) error {
	if e, ok := err.(*localLookup); ok {
		return e.error
	}
	switch class := Classify(err); class {
	case Canceled, Timeout, LocalFD, LocalPort, Blocked:
		return fmt.Errorf("proxy: %w", err)
	}
	return &Error{Class: ByProxy, Err: fmt.Errorf("proxy: %w", err)}
}

// maxProxyHead is the largest head of a proxy's answer, in bytes.
const maxProxyHead = 16 << 10

// connect asks an HTTP proxy for a tunnel to addr (RFC 9110, section 9.3.6), which it sends
// unchecked. The limits are those of c. It returns an error for an answer other than 2xx,
// which it quotes, for a head of more than 16 KiB, and for bytes after the head.
func (p *Proxy) connect(c *Conn, addr string) error {
	b := fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n", addr)
	if auth := p.Authorization(); auth != "" {
		b = fmt.Appendf(b, "Proxy-Authorization: %s\r\n", auth)
	}
	if _, err := c.Write(append(b, "\r\n"...)); err != nil {
		return err
	}
	for {
		head, _, whole := bytes.Cut(c.Unread(), []byte("\r\n\r\n"))
		if !whole {
			if len(head) > maxProxyHead {
				return errors.New("CONNECT: the answer's head has more than 16 KiB")
			}
			if err := c.Fill(); err != nil {
				return err
			}
			continue
		}
		line, _, _ := bytes.Cut(head, []byte("\r\n"))
		if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
			return fmt.Errorf("CONNECT: the answer is not HTTP/1: %.40q", line)
		}
		if line[9] != '2' {
			return fmt.Errorf("CONNECT: the proxy answers %.60q", line[9:])
		}
		c.Take(len(head) + 4)
		if len(c.Unread()) > 0 {
			return errors.New("CONNECT: bytes of the target came unasked")
		}
		return nil
	}
}
