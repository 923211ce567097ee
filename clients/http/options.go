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
	MaxBody        int64         // bytes of a body that is returned; a larger one fails as too_large; 64 MiB

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
	}
}

// settings are options made whole.
type settings struct {
	Options
	dialer conn.Dialer
}

// defaults is shared by the clients that were given no options.
var defaults = settings{Options: DefaultOptions()}

func (o Options) settings() (*settings, error) {
	if o.ConnectTimeout < 0 || o.Timeout < 0 || o.MaxConns < 0 || o.MaxBody < 0 {
		return nil, errors.New("options: a negative limit")
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
	return &settings{Options: o}, nil
}

// userAgent is what requests call themselves unless the caller says otherwise.
const userAgent = "gobench/" + version.Version
