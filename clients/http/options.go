package http

import (
	"crypto/x509"
	"errors"
	"time"

	"github.com/gobench-io/gobench/internal/conn"
	"github.com/gobench-io/gobench/internal/version"
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
}

// DefaultOptions is what a client does when nothing else is said.
func DefaultOptions() Options {
	return Options{
		ConnectTimeout: 10 * time.Second,
		Timeout:        60 * time.Second,
		MaxConns:       300,
		MaxBody:        64 << 20,

		ContinueTimeout: time.Second,
	}
}

// settings are options made whole.
type settings struct {
	Options
	dialer conn.Dialer

	follows   bool   // an answer may ask for more than being counted; see follow
	added     *added // headers for each request; nil: none
	addedAway *added // those for servers that a redirect points to
}

// defaults is shared by the clients that were given no options.
var defaults = settings{Options: DefaultOptions()}

func (o Options) settings() (*settings, error) {
	if o.ConnectTimeout < 0 || o.Timeout < 0 || o.MaxConns < 0 || o.MaxBody < 0 || o.MaxRedirects < 0 || o.ContinueTimeout < 0 {
		return nil, errors.New("options: a negative limit")
	}
	if err := o.Auth.check(); err != nil {
		return nil, err
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
	return s, nil
}

// added are the values of headers that options add to the requests that do not bring
// them; "": not added.
type added struct{ authorization, coding string }

func (a *added) equal(b *added) bool { return a != nil && b != nil && *a == *b }

// append renders the headers that r does not bring.
func (a *added) append(b []byte, r *Request) []byte {
	if a.authorization != "" && !r.has("authorization") {
		b = append(b, "Authorization: "...)
		b = append(b, a.authorization...)
		b = append(b, "\r\n"...)
	}
	if a.coding != "" && !r.has("accept-encoding") {
		b = append(b, "Accept-Encoding: "...)
		b = append(b, a.coding...)
		b = append(b, "\r\n"...)
	}
	return b
}

// userAgent is what requests call themselves unless the caller says otherwise.
const userAgent = "gobench/" + version.Version
