package conn

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Forever is an [Options.DNSCache] with which each name is resolved once.
const Forever = time.Duration(math.MaxInt64)

// maxNames limits the names whose addresses are cached; others are looked up each time.
const maxNames = 10_000

// names resolves host names. Dialers that share one share its cache. The zero value,
// and nil, ask the system at each connect.
type names struct {
	fixed map[string][]netip.AddrPort // by "host" or "host:port", in lower case; port 0: the requested one
	ttl   time.Duration               // how long an answer is cached; 0: not at all; Forever: without end
	base  *net.Resolver               // nil: the system's

	mu    sync.Mutex
	cache map[string]*entry // by host
	turns sync.Map          // by fixed name: the number of connects so far, an *atomic.Uint32
}

// entry is a cached name.
type entry struct {
	addrs   []netip.Addr
	until   time.Duration // on the clock of Now
	turn    uint32        // the number of connects so far
	pending *lookup       // the lookup in progress, or nil
}

// lookup is a query to a name server, for whose answer several goroutines may wait.
type lookup struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
}

// parseFixed parses fixed names: from "host" or "host:port" to addresses separated by commas,
// each with a port or without: {"a.test": "10.0.0.1, 10.0.0.2:8080"}. The keys of the result
// are in lower case, those that differ only in case joined, and a missing port is 0. The error
// quotes the name and the address.
func parseFixed(hosts map[string]string) (map[string][]netip.AddrPort, error) {
	fixed := make(map[string][]netip.AddrPort, len(hosts))
	for host, list := range hosts {
		if host == "" {
			return nil, fmt.Errorf("an empty name for %q", list)
		}
		key := strings.ToLower(host)
		for text := range strings.SplitSeq(list, ",") {
			text = strings.TrimSpace(text)
			to, err := netip.ParseAddrPort(text)
			if err != nil {
				ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
				if err != nil {
					return nil, fmt.Errorf("%q: %q: want an IP address, with a port or without", host, text)
				}
				to = netip.AddrPortFrom(ip, 0)
			}
			fixed[key] = append(fixed[key], netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
		}
	}
	return fixed, nil
}

// decides reports whether n resolves addr from its own table or cache; otherwise package net
// resolves the name when it connects.
func (n *names) decides(addr string) bool {
	return n != nil && (n.ttl > 0 || n.fixedFor(addr) != nil)
}

// systemName returns the host name in addr if the system's resolver finds its addresses, and
// "" if the scenario's own hosts or name servers do, or addr is malformed.
func (n *names) systemName(addr string) string {
	if n != nil && (n.base != nil || n.fixedFor(addr) != nil) {
		return ""
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// fixedFor returns the fixed addresses of addr, those of "host:port" before those of "host";
// nil if it has none. The slice must not be changed.
func (n *names) fixedFor(addr string) []netip.AddrPort {
	if n == nil || len(n.fixed) == 0 {
		return nil
	}
	addr = strings.ToLower(addr)
	if to := n.fixed[addr]; to != nil {
		return to
	}
	host, _, _ := net.SplitHostPort(addr)
	return n.fixed[host]
}

// resolve returns the addresses of "host:port", at least one, in the order in which to try
// them, and whether a name server was asked, also with an error. Addresses that are cached or
// fixed rotate, so that successive connects begin with each in turn. The caller owns the
// slice. The errors are those of splitPort, ask and cached.
func (n *names) resolve(ctx context.Context, addr string) (addrs []netip.AddrPort, looked bool, err error) {
	host, port, err := splitPort(ctx, addr)
	if err != nil {
		return nil, false, err
	}
	if fixed := n.fixedFor(addr); fixed != nil {
		turn, _ := n.turns.LoadOrStore(strings.ToLower(addr), new(atomic.Uint32))
		from := int(turn.(*atomic.Uint32).Add(1)-1) % len(fixed)
		for i := range fixed {
			to := fixed[(from+i)%len(fixed)]
			if to.Port() == 0 {
				to = netip.AddrPortFrom(to.Addr(), port)
			}
			addrs = append(addrs, to)
		}
		return addrs, false, nil
	}
	ips, from := []netip.Addr(nil), 0
	if ip, parseErr := netip.ParseAddr(host); parseErr == nil {
		ips = []netip.Addr{ip.Unmap()}
	} else if n == nil || n.ttl == 0 {
		looked = true
		ips, err = n.ask(ctx, host)
	} else {
		ips, from, looked, err = n.cached(ctx, strings.ToLower(host))
	}
	if err != nil {
		return nil, looked, err
	}
	for i := range ips {
		addrs = append(addrs, netip.AddrPortFrom(ips[(from+i)%len(ips)], port))
	}
	return addrs, looked, nil
}

// resolver returns a resolver for one query. One with our own settings is created for each query:
// concurrent queries for a name share one in a Resolver, and a query that got no answer would
// delay them all for seconds after the name server is back.
func (n *names) resolver() *net.Resolver {
	if n == nil || n.base == nil {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: n.base.PreferGo, StrictErrors: n.base.StrictErrors, Dial: n.base.Dial}
}

// ask resolves a name, until ctx ends. It returns at least one address, IPv4 as 4 bytes, or an
// error, a *net.DNSError if the name has none.
func (n *names) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := n.resolver().LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, err
}

// cached returns the addresses of a name, in lower case, from the cache, or looks it up; turn
// is the index of the one to begin with, and looked reports a lookup, or a wait for another's.
// The slice is shared and must not be changed. One caller asks at a time; the others wait for
// its answer or error, or until their ctx ends (with its error, or a *net.DNSError for a
// deadline), and one of them asks again if its ctx was canceled. A failure is not cached. With
// maxNames in the cache, further names are looked up each time. n.ttl must be above 0, and not
// so short that answers expire at once: it asks until one lasts.
func (n *names) cached(ctx context.Context, host string) (ips []netip.Addr, turn int, looked bool, err error) {
	for {
		n.mu.Lock()
		e := n.cache[host]
		if e == nil {
			if len(n.cache) >= maxNames {
				n.mu.Unlock()
				ips, err = n.ask(ctx, host)
				return ips, 0, true, err
			}
			if n.cache == nil {
				n.cache = map[string]*entry{}
			}
			e = &entry{}
			n.cache[host] = e
		}
		if e.addrs != nil && Now() < e.until {
			turn = int(e.turn) % len(e.addrs)
			e.turn++
			ips = e.addrs
			n.mu.Unlock()
			return ips, turn, looked, nil
		}
		l, mine := e.pending, false
		if l == nil {
			l, mine = &lookup{done: make(chan struct{})}, true
			e.pending = l
		}
		n.mu.Unlock()
		looked = true
		if mine {
			l.addrs, l.err = n.ask(ctx, host)
			n.mu.Lock()
			e.pending = nil
			if l.err == nil {
				e.addrs, e.until = l.addrs, n.until()
			} else if e.addrs == nil {
				delete(n.cache, host)
			}
			n.mu.Unlock()
			close(l.done)
			if l.err != nil {
				return nil, 0, true, l.err
			}
			continue
		}
		select {
		case <-l.done:
			if l.err != nil && ctx.Err() == nil && Classify(l.err) != Canceled {
				return nil, 0, true, l.err
			}
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			if err == context.Canceled {
				return nil, 0, true, err
			}
			return nil, 0, true, &net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true}
		}
	}
}

// until returns when an answer that arrives now expires, on the clock of Now.
func (n *names) until() time.Duration {
	if n.ttl == Forever {
		return Forever
	}
	return Now() + n.ttl
}

// resolverOf returns a resolver that asks the name servers ("10.0.0.53" or "10.0.0.53:5353"),
// at least one, in turn instead of those of the system. The default port is 53. The error
// quotes the server that is malformed; one that the run may not connect to fails at each
// query.
func resolverOf(servers []string) (*net.Resolver, error) {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		to, err := netip.ParseAddrPort(s)
		if err != nil {
			ip, err := netip.ParseAddr(strings.Trim(s, "[]"))
			if err != nil {
				return nil, fmt.Errorf("%q: want the IP address of a name server, with a port or without", s)
			}
			to = netip.AddrPortFrom(ip, 53)
		}
		addrs[i] = to.String()
	}
	var turn atomic.Uint32
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		i := int(turn.Add(1)-1) % len(addrs)
		if errProcess != nil {
			return nil, blocked(errProcess)
		}
		if err := process.Address(netip.MustParseAddrPort(addrs[i]), ""); err != nil {
			return nil, blocked(fmt.Errorf("name server: %w", err))
		}
		return new(net.Dialer).DialContext(ctx, network, addrs[i])
	}}, nil
}
