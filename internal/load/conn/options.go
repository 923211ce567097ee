package conn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Options describes how a client connects to servers. The zero value connects directly over TCP
// and resolves names at each connect.
type Options struct {
	Unix         string            // path of a Unix socket to connect to, whatever the address; excludes the other options
	Proxy        string            // to connect through; see ParseProxy
	ProxyRootCAs *x509.CertPool    // trusted for an https proxy's certificate; nil: the system's
	Sources      []string          // local addresses and prefixes ("127.1.0.0/24") to connect from, in turn
	Hosts        map[string]string // addresses of names, by "host" or "host:port": {"a.test": "10.0.0.1, 10.0.0.2:81"}
	DNSCache     time.Duration     // how long an answer is cached, not negative (not checked); 0: not at all; Forever: without end
	DNSServers   []string          // name servers to ask, "10.0.0.53" or "10.0.0.53:5353"; nil: the system's
}

// sourcesKey and namesKey are the keys of the values that dialers with equal options share.
type (
	sourcesKey string
	namesKey   string
)

// NewDialer returns a Dialer for o. The error names the option that is wrong.
//
// shared returns the value stored under key, or calls make and stores what that returns;
// the Shared method of an executor's recorder is one. Dialers made with the same function
// share the rotation of equal Sources, and the DNS cache and rotation of equal Hosts,
// DNSCache and DNSServers. With a nil function nothing is shared.
func NewDialer(o Options, shared func(key any, make func() (any, error)) (any, error)) (*Dialer, error) {
	if shared == nil {
		shared = func(_ any, make func() (any, error)) (any, error) { return make() }
	}
	if o.Unix != "" && (o.Proxy != "" || len(o.Sources) > 0 || len(o.Hosts) > 0 || len(o.DNSServers) > 0 || o.DNSCache > 0) {
		return nil, errors.New("option Unix can't be combined with Proxy, Sources, Hosts, DNSCache or DNSServers")
	}
	d := &Dialer{unix: o.Unix}
	if len(o.Sources) > 0 {
		v, err := shared(sourcesKey(strings.Join(o.Sources, ",")), func() (any, error) { return parseSources(o.Sources) })
		if err != nil {
			return nil, fmt.Errorf("option Sources: %w", err)
		}
		d.sources = v.(*sources)
	}
	if len(o.Hosts) > 0 || o.DNSCache != 0 || len(o.DNSServers) > 0 {
		v, err := shared(namesKey(fmt.Sprintln(o.Hosts, o.DNSCache, o.DNSServers)), func() (any, error) { return newNames(&o) })
		if err != nil {
			return nil, err
		}
		d.names = v.(*names)
	}
	if o.Proxy != "" {
		var err error
		if d.proxy, err = ParseProxy(o.Proxy, &tls.Config{RootCAs: o.ProxyRootCAs}); err != nil {
			return nil, fmt.Errorf("option Proxy: %w", err)
		}
	}
	return d, nil
}

// newNames returns the names for o's Hosts, DNSCache and DNSServers. The error names the
// option that is wrong.
func newNames(o *Options) (*names, error) {
	n := &names{ttl: o.DNSCache}
	var err error
	if n.fixed, err = parseFixed(o.Hosts); err != nil {
		return nil, fmt.Errorf("option Hosts: %w", err)
	}
	if len(o.DNSServers) > 0 {
		if n.base, err = resolverOf(o.DNSServers); err != nil {
			return nil, fmt.Errorf("option DNSServers: %w", err)
		}
	}
	return n, nil
}
