package http

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/run/version"
)

// Options configures a client. A zero field has the value of [DefaultOptions].
type Options struct {
	ConnectTimeout time.Duration // limit for connecting, TLS included; 10 s
	Timeout        time.Duration // limit from the call to the answer's last byte, exceeded by at most 1 %; 60 s
	MaxConns       int           // largest number of open connections; further calls wait for one; 300
	MaxBody        int64         // largest body to return, in bytes after decoding; a larger one fails as too_large; 64 MiB

	Resend          bool          // send an idempotent request again, once, when a reused connection turns out to be closed after it was sent: the server may have processed it; see metric PREFIX.resent
	MaxRedirects    int           // number of redirects that a call follows; it returns the answer after the last one; 0: none
	Cookies         bool          // store the servers' cookies and send them back; see HttpClient.Jar
	Auth            Auth          // Basic, Bearer or Digest; zero: none
	Decode          bool          // accept gzip, deflate, br and zstd, and decode returned bodies
	ContinueTimeout time.Duration // time after which "Expect: 100-continue" sends the body without an answer; 1 s

	RootCAs            *x509.CertPool // trusted for servers' certificates; nil: the system's
	InsecureSkipVerify bool           // accept any certificate
	ServerName         string         // requested by SNI and verified; "": the URL's host

	// How to reach the server. Clients of a run with equal options share the rotation of
	// Sources and the cache of names.
	TLSTimeout    time.Duration     // limit for the TLS handshake alone, within ConnectTimeout; 0: none
	HeaderTimeout time.Duration     // limit from sending each request to the end of its answer's head; 0: none but Timeout
	Certificates  []tls.Certificate // for servers that request a client certificate
	MinTLS        uint16            // tls.VersionTLS12 and so on; 0: TLS 1.2
	MaxTLS        uint16            // 0: the newest
	NoResumption  bool              // make each TLS handshake a full one
	ALPN          []string          // protocols to offer instead of "http/1.1", or of "h2" with HTTP2; nil: these; empty: none
	KeyLogFile    string            // file to append TLS secrets to, for decrypting recorded traffic; "": none
	HTTP2         bool              // speak HTTP/2, never 1.1: by ALPN with https, with prior knowledge (h2c) with http
	MaxStreams    int               // largest number of concurrent calls on an HTTP/2 connection, if the server allows it; 100
	Proxy         string            // "SCHEME://[USER:PASSWORD@]HOST:PORT" with http, https, socks5 or socks5h; ProxyEnvironment; "": none
	ProxyRootCAs  *x509.CertPool    // trusted for an https proxy's certificate; nil: the system's
	Unix          string            // path of a Unix socket to connect to, whatever the URL's host; "": none
	Sources       []string          // local addresses and prefixes ("127.1.0.0/24") to connect from, in turn; nil: the system chooses
	Hosts         map[string]string // addresses of names: {"a.test": "10.0.0.1, 10.0.0.2:81"}, used in turn; also by "host:port"
	DNSCache      time.Duration     // how long a name's addresses are cached, used in turn; 0: not at all; DNSOnce: without end
	DNSServers    []string          // name servers ("10.0.0.53", "10.0.0.53:5353") to ask; nil: the system's
}

// DefaultOptions returns the options of a client that is created without any. The caller may
// change them.
func DefaultOptions() Options {
	return Options{
		ConnectTimeout: 10 * time.Second,
		Timeout:        60 * time.Second,
		MaxConns:       300,
		MaxBody:        64 << 20,
		MaxStreams:     100,

		ContinueTimeout: time.Second,
	}
}

// settings are options with the defaults filled in. Clients of a prefix with equal options
// share them, unless these are beyond the first maxGiven different ones.
type settings struct {
	Options
	network
	last atomic.Pointer[template] // the template created last

	follows   bool   // an answer may need another request, or decoding; see follow
	added     *added // headers for each request; nil: none
	addedAway *added // those for servers that a redirect points to
}

// plainSettings returns settings without a network; o must be a result of whole.
func plainSettings(o Options) *settings {
	s := &settings{Options: o}
	s.follows = o.MaxRedirects > 0 || o.Cookies || o.Auth.scheme == digest || o.Decode
	if o.Decode {
		s.addedAway = &added{coding: acceptEncoding}
	}
	s.added = s.addedAway
	if h := o.Auth.header(); h != "" {
		s.added = &added{authorization: h}
		if o.Decode {
			s.added.coding = acceptEncoding
		}
	}
	return s
}

// whole returns o with the defaults filled in. It returns an error for a negative limit or
// wrong Auth; newNetwork checks the other options.
func (o Options) whole() (Options, error) {
	if o.ConnectTimeout < 0 || o.Timeout < 0 || o.MaxConns < 0 || o.MaxBody < 0 || o.MaxRedirects < 0 || o.ContinueTimeout < 0 {
		return o, errors.New("options: a negative limit")
	}
	if err := o.Auth.check(); err != nil {
		return o, err
	}
	d := DefaultOptions()
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = d.ConnectTimeout
	}
	if o.Timeout == 0 {
		o.Timeout = d.Timeout
	}
	if o.MaxConns == 0 {
		o.MaxConns = d.MaxConns
	}
	if o.MaxBody == 0 {
		o.MaxBody = d.MaxBody
	}
	if o.ContinueTimeout == 0 {
		o.ContinueTimeout = d.ContinueTimeout
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = d.MaxStreams
	}
	return o, nil
}

// added holds the values of headers that options add to requests without them; "" adds
// none.
type added struct{ authorization, coding string }

func (a *added) equal(b *added) bool { return a != nil && b != nil && *a == *b }

// each yields the headers that r does not have, Authorization before Accept-Encoding.
func (a *added) each(r *Request, yield func(name, value string)) {
	if a.authorization != "" && !r.has("authorization") {
		yield("Authorization", a.authorization)
	}
	if a.coding != "" && !r.has("accept-encoding") {
		yield("Accept-Encoding", a.coding)
	}
}

// append appends the lines of the headers that r does not have, each with CR LF.
func (a *added) append(b []byte, r *Request) []byte {
	a.each(r, func(name, value string) {
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		b = append(b, "\r\n"...)
	})
	return b
}

// userAgent is the User-Agent of requests that do not set one.
const userAgent = "gobench/" + version.Version
