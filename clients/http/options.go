package http

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/run/version"
)

// Options are how a client behaves. A field that is zero has the value that
// [DefaultOptions] gives.
type Options struct {
	ConnectTimeout time.Duration // to connect, TLS included; 10 s
	Timeout        time.Duration // from the call to the answer's last byte, at most 1 % more; 60 s
	MaxConns       int           // connections open at once; a call beyond them waits for one; 300
	MaxBody        int64         // bytes of a body that is returned, decoded; a larger one fails as too_large; 64 MiB

	MaxRedirects    int           // how many redirects a call follows; the answer beyond them is the call's; 0: none
	Cookies         bool          // keep the servers' cookies and send them back; see HttpClient.Jar
	Auth            Auth          // Basic, Bearer or Digest; zero: none
	Decode          bool          // ask for gzip, deflate, br and zstd, and decode bodies that are returned
	ContinueTimeout time.Duration // how long "Expect: 100-continue" waits before the body is sent all the same; 1 s

	RootCAs            *x509.CertPool // who may sign servers' certificates; nil: whom this host trusts
	InsecureSkipVerify bool           // take any certificate
	ServerName         string         // to ask for and to check certificates against; "": the URL's host

	// The way to the server. Clients of a run that say the same share the turn of
	// Sources and what is known of names.
	TLSTimeout    time.Duration     // the TLS handshake's own part of ConnectTimeout; 0: no part of its own
	HeaderTimeout time.Duration     // from sending a request to its answer's whole head, for each of an operation; 0: Timeout alone
	Certificates  []tls.Certificate // to show to servers that ask for one
	MinTLS        uint16            // tls.VersionTLS12 and so on; 0: TLS 1.2
	MaxTLS        uint16            // 0: the newest
	NoResumption  bool              // make each TLS handshake a full one
	ALPN          []string          // protocols to offer instead of "http/1.1", or "h2" with HTTP2; empty, not nil: none
	KeyLogFile    string            // append the secrets of TLS there, to read recorded traffic; "": don't
	HTTP2         bool              // speak HTTP/2, never 1.1: by ALPN with https, with prior knowledge (h2c) with http
	MaxStreams    int               // calls at once on a connection of HTTP/2, unless the server allows less; 100
	Proxy         string            // "SCHEME://[USER:PASSWORD@]HOST:PORT" with http, https, socks5 or socks5h; ProxyEnvironment; "": none
	ProxyRootCAs  *x509.CertPool    // who may sign an https proxy's certificate; nil: whom this host trusts
	Unix          string            // path of a Unix socket to connect to, whatever the URL's host; "": none
	Sources       []string          // local addresses and prefixes ("127.1.0.0/24") to connect from, in turn; nil: the system chooses
	Hosts         map[string]string // addresses of names: {"a.test": "10.0.0.1, 10.0.0.2:81"}, used in turn; also by "host:port"
	DNSCache      time.Duration     // how long a name's addresses are used, in turn; 0: it is looked up at each connect; DNSOnce: for ever
	DNSServers    []string          // name servers ("10.0.0.53", "10.0.0.53:5353") to ask; nil: the system's
}

// DefaultOptions is what a client does when nothing else is said.
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

// settings are options made whole. Clients of a prefix that are given the same
// options share them.
type settings struct {
	Options
	network
	last atomic.Pointer[template] // the template made last

	follows   bool   // an answer may ask for more than being counted; see follow
	added     *added // headers for each request; nil: none
	addedAway *added // those for servers that a redirect points to
}

// plainSettings makes settings of whole options, but for the network.
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

// whole gives o with the defaults filled in.
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

// added are the values of headers that options add to the requests that do not bring
// them; "": not added.
type added struct{ authorization, coding string }

func (a *added) equal(b *added) bool { return a != nil && b != nil && *a == *b }

// each gives the headers that r does not bring.
func (a *added) each(r *Request, yield func(name, value string)) {
	if a.authorization != "" && !r.has("authorization") {
		yield("Authorization", a.authorization)
	}
	if a.coding != "" && !r.has("accept-encoding") {
		yield("Accept-Encoding", a.coding)
	}
}

// append renders the headers that r does not bring.
func (a *added) append(b []byte, r *Request) []byte {
	a.each(r, func(name, value string) {
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		b = append(b, "\r\n"...)
	})
	return b
}

// userAgent is what requests call themselves unless the caller says otherwise.
const userAgent = "gobench/" + version.Version
