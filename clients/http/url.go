package http

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// target is a server: where to connect, and how its requests name it.
type target struct {
	origin string // as callers write it: "http://example.com:8080"
	addr   string // to connect to: "example.com:8080"
	host   string // the Host header: "example.com:8080"
	name   string // without port, to check certificates against
	secure bool
}

// split splits a URL into the server's part and the part for the request line, without
// allocating unless it has to change the path: "http://host:1", "/path?query". The path is
// never empty. It drops the fragment, which is never sent (RFC 9110, section 4.2.5). The error
// names the URL; the server's part is not checked.
func split(rawURL string) (origin, path string, err error) {
	i := strings.Index(rawURL, "://")
	if i < 0 {
		return "", "", fmt.Errorf("url %q: want http://HOST/PATH or https://HOST/PATH", rawURL)
	}
	origin = rawURL
	if j := strings.IndexAny(rawURL[i+3:], "/?#"); j >= 0 {
		origin, path = rawURL[:i+3+j], rawURL[i+3+j:]
	}
	path, _, _ = strings.Cut(path, "#")
	path, err = escape(path)
	if err != nil {
		return "", "", fmt.Errorf("url %q: %w", rawURL, err)
	}
	if path == "" || path[0] == '?' {
		path = "/" + path
	}
	return origin, path, nil
}

// escape returns the path and query for a request line: characters that are not allowed in a
// URL are percent-encoded. Control characters are an error. A percent sign is not escaped.
func escape(path string) (string, error) {
	bad := 0
	for i := range len(path) {
		switch c := path[i]; {
		case c < ' ' || c == 0x7f:
			return "", errors.New("control character")
		case !inURL[c]:
			bad++
		}
	}
	if bad == 0 {
		return path, nil
	}
	b := make([]byte, 0, len(path)+2*bad)
	for i := range len(path) {
		if c := path[i]; inURL[c] {
			b = append(b, c)
		} else {
			b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return string(b), nil
}

// inURL has the characters of a path and query (RFC 3986, sections 3.3 and 3.4), and further
// ones that servers accept unescaped.
var inURL = func() (in [256]bool) {
	for c := range in {
		in[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			strings.IndexByte("-._~!$&'()*+,;=:@/?%[]|", byte(c)) >= 0
	}
	return in
}()

// parseOrigin parses "https://host:port"; a missing port is 443, or 80 for http. There must be
// no path. It returns an error for another scheme, a user, a host that is not ASCII or is
// missing, and a wrong port.
func parseOrigin(origin string) (*target, error) {
	u, err := url.Parse(origin)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, err
	}
	t := &target{origin: strings.Clone(origin), host: u.Host, name: u.Hostname()}
	port := u.Port()
	switch u.Scheme {
	case "http":
		if port == "" {
			port = "80"
		}
	case "https":
		t.secure = true
		if port == "" {
			port = "443"
		}
	default:
		return nil, fmt.Errorf("scheme %q: want http or https", u.Scheme)
	}
	if u.User != nil {
		return nil, errors.New("user and password are not sent from a URL: set Options.Auth")
	}
	if t.name == "" {
		return nil, errors.New("no host")
	}
	for i := range len(t.host) {
		if c := t.host[i]; c <= ' ' || c >= 0x7f {
			return nil, fmt.Errorf("host %q: not ASCII; write it as xn--", t.host)
		}
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return nil, fmt.Errorf("port %q: want 1 to 65535", port)
	}
	if i := strings.IndexByte(t.host, '%'); i >= 0 { // a zone is only for connecting (RFC 6874)
		end := strings.IndexByte(t.host, ']')
		if end < i {
			return nil, fmt.Errorf("host %q: a percent sign is no part of a name", t.host)
		}
		t.host = t.host[:i] + t.host[end:]
	}
	t.host = strings.TrimSuffix(t.host, ":")
	t.addr = net.JoinHostPort(t.name, port)
	return t, nil
}
