package builtin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/gobench-io/gobench/clients/http"
)

// Client holds the options of each connection's client. For zero fields the defaults of
// clients/http apply.
type Client struct {
	Timeout        time.Duration // of a request
	ConnectTimeout time.Duration

	Insecure     bool   // accept any server certificate
	CA           []byte // PEM certificates of authorities trusted for servers
	Cert, Key    []byte // PEM to present to servers; without Key, Cert contains both
	ServerName   string // requested by SNI and verified
	Resend       bool   // see clients/http
	NoResumption bool   // make each TLS handshake a full one
	KeyLog       string // file for TLS secrets

	HTTP2     bool
	Streams   int // concurrent requests on an HTTP/2 connection; 0: 1
	Redirects int // number of redirects that are followed
	Cookies   bool
	User      string // NAME:PASSWORD, for Basic or Digest
	Digest    bool

	Proxy   string
	Unix    string
	Sources []string
	Resolve []string // HOST:PORT:ADDRESS[,ADDRESS], as in curl
}

// Fill sets the fields of c that are zero to those of o. Slices are shared with o.
func (c *Client) Fill(o Client) {
	own, other := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(other.Field(i))
		}
	}
}

// options returns the options of a connection's client, which has one connection to each host. The error
// describes the invalid option, and o is then incomplete; what clients/http checks itself is
// not checked. An IPv6 address as HOST in Resolve is not recognized.
func (c Client) options(hosts int) (o http.Options, err error) {
	o = http.Options{
		MaxConns: max(hosts, 1), Timeout: c.Timeout, ConnectTimeout: c.ConnectTimeout,
		InsecureSkipVerify: c.Insecure, ServerName: c.ServerName, NoResumption: c.NoResumption, Resend: c.Resend, KeyLogFile: c.KeyLog,
		HTTP2: c.HTTP2, MaxStreams: max(c.Streams, 1), MaxRedirects: c.Redirects, Cookies: c.Cookies,
		Proxy: c.Proxy, Unix: c.Unix, Sources: c.Sources,
	}
	if c.Streams > 1 && !c.HTTP2 {
		return o, errors.New("several streams on a connection are of HTTP/2")
	}
	if c.CA != nil {
		o.RootCAs = x509.NewCertPool()
		if !o.RootCAs.AppendCertsFromPEM(c.CA) {
			return o, errors.New("the file of CAs has no certificate in PEM")
		}
	}
	if c.Cert != nil {
		key := c.Key
		if key == nil {
			key = c.Cert
		}
		pair, err := tls.X509KeyPair(c.Cert, key)
		if err != nil {
			return o, fmt.Errorf("client certificate: %w", err)
		}
		o.Certificates = []tls.Certificate{pair}
	}
	if c.User != "" {
		name, password, _ := strings.Cut(c.User, ":")
		o.Auth = http.Basic(name, password)
		if c.Digest {
			o.Auth = http.Digest(name, password)
		}
	}
	for _, r := range c.Resolve {
		parts := strings.SplitN(r, ":", 3)
		if len(parts) < 3 || parts[2] == "" {
			return o, fmt.Errorf("address %q: want HOST:PORT:ADDRESS", r)
		}
		if o.Hosts == nil {
			o.Hosts = map[string]string{}
		}
		o.Hosts[parts[0]+":"+parts[1]] = parts[2]
	}
	return o, nil
}

// Check returns an error that names the option if an option is invalid. It does not connect,
// but opens the file KeyLog, and declares the metrics of prefix "http" in this process.
func (c Client) Check() error {
	o, err := c.options(1)
	if err != nil {
		return err
	}
	client, err := http.NewHttpClient(context.Background(), "http", o)
	if err == nil {
		client.Close()
	} else if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return err
}
