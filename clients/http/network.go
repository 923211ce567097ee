package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	nethttp "net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/internal/load/conn"
)

// ProxyEnvironment as [Options.Proxy] uses the proxies in the executor's environment:
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Without it the environment has no effect.
const ProxyEnvironment = "environment"

// DNSOnce as [Options.DNSCache] looks each name up once.
const DNSOnce = conn.Forever

// network is how a client connects to servers, from its options. The zero value connects
// directly, looks names up at each connect and speaks HTTP/1.1.
type network struct {
	dialer    conn.Dialer
	tls       conn.TLSOptions
	protocols []string // to offer (ALPN)
	proxies   *proxies // from the environment; nil: use dialer.Proxy, if set
	http2     *nethttp.Transport
}

// given holds options as a caller passed them, and their settings.
type given struct {
	options  Options
	settings *settings
}

// maxGiven is the largest number of different options of a prefix that are cached.
const maxGiven = 8

// settings returns the settings for o, with the defaults filled in, which must not be changed,
// or an error that describes the wrong option. The first maxGiven different options of a
// prefix are cached, so that clients with equal ones share the settings; for others each call
// creates new ones. r is for what dialers of a run share. Any goroutine may call it.
func (f *family) settings(r *executor.Recorder, o Options) (*settings, error) {
	known := *f.given.Load()
	for i := range known {
		if known[i].options.identical(&o) {
			return known[i].settings, nil
		}
	}
	return f.newSettings(r, o)
}

// identical reports whether o and p have the same bits. Then they are equal, because the
// stored options are a clone, whose slices and maps no caller can change. Unlike a
// comparison by package reflect it does not allocate.
func (o *Options) identical(p *Options) bool {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(o)), unsafe.Sizeof(*o))) == string(unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)))
}

// newSettings is settings for options that are new, or that have slices or maps. The first
// maxGiven different options of a prefix are cached.
func (f *family) newSettings(r *executor.Recorder, o Options) (*settings, error) {
	if s := f.cached(&o); s != nil {
		return s, nil
	}
	o = o.clone() // the caller may change what o points to
	whole, err := o.whole()
	if err != nil {
		return nil, err
	}
	s := plainSettings(whole)
	if s.network, err = newNetwork(r, &s.Options); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.cached(&o); s != nil { // another goroutine was first
		return s, nil
	}
	if known := *f.given.Load(); len(known) < maxGiven {
		known = append(slices.Clip(known), given{o, s})
		f.given.Store(&known)
	}
	return s, nil
}

// cached returns the cached settings of options equal to o; nil without any.
func (f *family) cached(o *Options) *settings {
	for _, g := range *f.given.Load() {
		if reflect.DeepEqual(&g.options, o) {
			return g.settings
		}
	}
	return nil
}

// clone returns a copy of o with its own slices and maps; it shares their elements and the
// certificate pools.
func (o Options) clone() Options {
	o.Certificates, o.ALPN = slices.Clone(o.Certificates), slices.Clone(o.ALPN)
	o.Sources, o.DNSServers = slices.Clone(o.Sources), slices.Clone(o.DNSServers)
	o.Hosts = maps.Clone(o.Hosts)
	return o
}

// newNetwork returns the network for o, whose defaults are filled in; r is for what dialers of
// a run share. The error names the wrong option, or those that may not be negative. It opens
// KeyLogFile, but no connection.
func newNetwork(r *executor.Recorder, o *Options) (network, error) {
	n := network{
		tls: conn.TLSOptions{
			RootCAs: o.RootCAs, InsecureSkipVerify: o.InsecureSkipVerify, ServerName: o.ServerName, Certificates: o.Certificates,
			MinTLS: o.MinTLS, MaxTLS: o.MaxTLS, NoResumption: o.NoResumption, KeyLogFile: o.KeyLogFile,
		},
		protocols: o.ALPN,
	}
	switch {
	case o.TLSTimeout < 0, o.HeaderTimeout < 0, o.MaxStreams < 0, o.DNSCache < 0:
		return n, errors.New("options: a negative TLSTimeout, HeaderTimeout, MaxStreams or DNSCache")
	case o.HTTP2 && o.ALPN != nil && !slices.Contains(o.ALPN, "h2"):
		return n, fmt.Errorf("option HTTP2 wants h2 among ALPN, which is %q", o.ALPN)
	}
	if n.protocols == nil {
		n.protocols = []string{"http/1.1"}
		if o.HTTP2 {
			n.protocols = []string{"h2"}
		}
	}
	if o.HTTP2 {
		n.http2 = newHTTP2(o)
	}
	if err := n.tls.Check(); err != nil {
		return n, err
	}
	way := conn.Options{Unix: o.Unix, Proxy: o.Proxy, ProxyRootCAs: o.ProxyRootCAs, Sources: o.Sources,
		Hosts: o.Hosts, DNSCache: o.DNSCache, DNSServers: o.DNSServers}
	if o.Proxy == ProxyEnvironment && o.Unix == "" {
		way.Proxy = "" // see proxies
		n.proxies = &proxies{tls: &tls.Config{RootCAs: o.ProxyRootCAs}}
	}
	dialer, err := conn.NewDialer(way, r.Shared)
	if err != nil {
		return n, err
	}
	n.dialer = *dialer
	return n, nil
}

// proxies holds the proxies of the environment, by the target's origin.
type proxies struct {
	tls   *tls.Config // of https proxies
	known sync.Map    // *conn.Proxy, or error
	count atomic.Int32
}

// of returns the environment's proxy for t, nil if it has none. The result for the first
// maxTargets targets is cached, also an error.
func (p *proxies) of(t *target) (*conn.Proxy, error) {
	v, ok := p.known.Load(t.origin)
	if !ok {
		v = p.ask(t)
		if p.count.Add(1) <= maxTargets {
			p.known.Store(t.origin, v)
		}
	}
	if err, ok := v.(error); ok {
		return nil, err
	}
	return v.(*conn.Proxy), nil
}

// ask returns the environment's *conn.Proxy for t, or an error. It returns a nil one if t has
// no proxy, and always for localhost and loopback addresses.
func (p *proxies) ask(t *target) any {
	scheme := "http"
	if t.secure {
		scheme = "https"
	}
	u, err := nethttp.ProxyFromEnvironment(&nethttp.Request{URL: &url.URL{Scheme: scheme, Host: t.host}})
	if err != nil {
		return fmt.Errorf("proxy of the environment: %w", err)
	}
	if u == nil {
		return (*conn.Proxy)(nil)
	}
	proxy, err := conn.ParseProxy(u.String(), p.tls)
	if err != nil {
		return fmt.Errorf("proxy of the environment: %w", err)
	}
	return proxy
}

// proxy returns the proxy for t, nil if it has none. The error is one of the environment.
func (n *network) proxy(t *target) (*conn.Proxy, error) {
	if n.proxies != nil {
		return n.proxies.of(t)
	}
	return n.dialer.Proxy(), nil
}

// proxied prepares q for an HTTP proxy that accepts whole URLs: for requests of HTTP/1.1
// without TLS it sets path and via. Other requests use a tunnel, and q is not changed. Call it
// once, when target and path are set. The error is one of the proxy in the environment.
func (s *settings) proxied(q *call) error {
	if s.proxies == nil && s.dialer.Proxy() == nil {
		return nil
	}
	p, err := s.proxy(q.target)
	if err != nil {
		return err
	}
	if !s.wholeURL(q.target, p) {
		return nil
	}
	q.path = "http://" + q.target.host + q.path
	if auth := p.Authorization(); auth != "" {
		q.via = "Proxy-Authorization: " + auth + "\r\n"
	}
	return nil
}

// wholeURL reports whether requests for t carry their whole URL for p.
func (s *settings) wholeURL(t *target, p *conn.Proxy) bool {
	return p != nil && p.HTTP() && !t.secure && !s.HTTP2
}

// connect opens a connection to t, directly or through its proxy, without TLS to t, until ctx
// ends or limit has passed, which one of 0 or less has. took holds the durations after a
// success. The errors are those of conn.Dial and of proxy. The caller owns the connection.
func (s *settings) connect(ctx context.Context, t *target, limit time.Duration) (cn *conn.Conn, took conn.Times, err error) {
	p, err := s.proxy(t)
	if err != nil {
		return nil, took, err
	}
	d := &s.dialer
	if p != d.Proxy() {
		d = d.Through(p)
	}
	if s.wholeURL(t, p) {
		cn, err = d.DialProxy(ctx, t.addr, limit, &took)
	} else {
		cn, err = d.Dial(ctx, t.addr, limit, &took)
	}
	return cn, took, err
}

var errNoHTTP2 = &conn.Error{Class: conn.Protocol, Err: errors.New("the server does not speak HTTP/2")}

// refusal returns errNoHTTP2 for the error of a handshake in which the server refused the
// protocol, and err otherwise. err must not be nil.
func (s *settings) refusal(err error) error {
	// RFC 7301, section 3.2; crypto/tls exports no type for this alert.
	if s.HTTP2 && strings.HasSuffix(err.Error(), "tls: no application protocol") {
		return errNoHTTP2
	}
	return err
}

// agreed returns an error of the class Protocol if the negotiated protocol (ALPN, "" for none)
// is not the client's.
func (s *settings) agreed(protocol string) error {
	if s.HTTP2 && protocol != "h2" {
		return errNoHTTP2
	}
	if !s.HTTP2 && protocol == "h2" {
		return &conn.Error{Class: conn.Protocol, Err: errors.New("the server chose h2, which Options.ALPN offers: set Options.HTTP2 to speak it")}
	}
	return nil
}

// arm sets l's time limit for q: HeaderTimeout from now, if that ends first, and otherwise
// Timeout from the beginning of the call. With HeaderTimeout it sets q.whole to Timeout, which
// must be in force after the head; otherwise q.whole is 0.
func (c *client) arm(q *call, l *link) {
	s := c.settings
	q.whole = 0
	if s.HeaderTimeout > 0 {
		if now := conn.Now(); now+s.HeaderTimeout < q.start+s.Timeout {
			q.whole = s.Timeout
			l.Arm(now, s.HeaderTimeout)
			return
		}
	}
	if l.reused() && q.asks() {
		l.ArmAsk(q.start, s.Timeout)
		return
	}
	l.Arm(q.start, s.Timeout)
}
