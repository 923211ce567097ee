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

// Forever is a Keep that looks each name up once.
const Forever = time.Duration(math.MaxInt64)

// maxNames bounds the names whose addresses are kept; others are looked up each time.
const maxNames = 10_000

// Names tells which addresses a name has. Dialers that share one share what it
// keeps. The zero value asks the system at each connect. Set the fields before the
// first use.
type Names struct {
	Fixed    map[string][]netip.AddrPort // by "host" or "host:port", in lower case; port 0: the one asked for
	Keep     time.Duration               // how long an answer is used; 0: for one connect; Forever: it is never asked again
	Resolver *net.Resolver               // whom to ask; nil: the system's

	mu    sync.Mutex
	known map[string]*kept // by host
	turns sync.Map         // of fixed names: how many connects there were, as *atomic.Uint32
}

// kept is what is known of a name.
type kept struct {
	addrs []netip.Addr
	until time.Duration // on the clock of Now
	turn  uint32        // how many connects there were
	asked *flight       // the question that is under way; nil: none is
}

// flight is a question that many wait for.
type flight struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
}

// ParseFixed reads fixed names: from "host" or "host:port" to addresses separated by
// commas, each with a port or without: {"a.test": "10.0.0.1, 10.0.0.2:8080"}.
func ParseFixed(hosts map[string]string) (map[string][]netip.AddrPort, error) {
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

// decides reports whether the way to addr is Names' own; else package net looks the
// name up as it connects.
func (n *Names) decides(addr string) bool {
	return n != nil && (n.Keep > 0 || n.fixed(addr) != nil)
}

// own gives the name in addr if its addresses are what the system's resolver says, and not
// what the scenario says; "": they are not.
func (n *Names) own(addr string) string {
	if n != nil && (n.Resolver != nil || n.fixed(addr) != nil) {
		return ""
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// fixed gives the addresses that are fixed for addr; nil: none are.
func (n *Names) fixed(addr string) []netip.AddrPort {
	if n == nil || len(n.Fixed) == 0 {
		return nil
	}
	addr = strings.ToLower(addr)
	if to := n.Fixed[addr]; to != nil {
		return to
	}
	host, _, _ := net.SplitHostPort(addr)
	return n.Fixed[host]
}

// resolve gives the addresses of "host:port" in the order in which to try them, and
// whether somebody had to be asked. Where they are kept or fixed, connects begin with
// each in turn.
func (n *Names) resolve(ctx context.Context, addr string) (addrs []netip.AddrPort, looked bool, err error) {
	host, port, err := splitPort(ctx, addr)
	if err != nil {
		return nil, false, err
	}
	if fixed := n.fixed(addr); fixed != nil {
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
	} else if n == nil || n.Keep == 0 {
		looked = true
		ips, err = n.ask(ctx, host)
	} else {
		ips, from, looked, err = n.keep(ctx, strings.ToLower(host))
	}
	if err != nil {
		return nil, looked, err
	}
	for i := range ips {
		addrs = append(addrs, netip.AddrPortFrom(ips[(from+i)%len(ips)], port))
	}
	return addrs, looked, nil
}

// resolver gives a resolver for one question. One of our own is made anew for each:
// a Resolver has those who ask for the same name share a question, so that one that
// got no answer would hold all up for seconds after the name server is back.
func (n *Names) resolver() *net.Resolver {
	if n == nil || n.Resolver == nil {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: n.Resolver.PreferGo, StrictErrors: n.Resolver.StrictErrors, Dial: n.Resolver.Dial}
}

// ask looks a name up.
func (n *Names) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := n.resolver().LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, err
}

// keep gives the addresses of a name as they are known, or looks it up. Only one
// caller asks at a time, the others wait for its answer. A failure is not kept.
func (n *Names) keep(ctx context.Context, host string) (ips []netip.Addr, turn int, looked bool, err error) {
	for {
		n.mu.Lock()
		k := n.known[host]
		if k == nil {
			if len(n.known) >= maxNames {
				n.mu.Unlock()
				ips, err = n.ask(ctx, host)
				return ips, 0, true, err
			}
			if n.known == nil {
				n.known = map[string]*kept{}
			}
			k = &kept{}
			n.known[host] = k
		}
		if k.addrs != nil && Now() < k.until {
			turn = int(k.turn) % len(k.addrs)
			k.turn++
			ips = k.addrs
			n.mu.Unlock()
			return ips, turn, looked, nil
		}
		f, mine := k.asked, false
		if f == nil {
			f, mine = &flight{done: make(chan struct{})}, true
			k.asked = f
		}
		n.mu.Unlock()
		looked = true
		if mine {
			f.addrs, f.err = n.ask(ctx, host)
			n.mu.Lock()
			k.asked = nil
			if f.err == nil {
				k.addrs, k.until = f.addrs, n.until()
			} else if k.addrs == nil {
				delete(n.known, host)
			}
			n.mu.Unlock()
			close(f.done)
			if f.err != nil {
				return nil, 0, true, f.err
			}
			continue
		}
		select {
		case <-f.done:
			if f.err != nil && ctx.Err() == nil && Classify(f.err) != Canceled {
				return nil, 0, true, f.err
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

// until is when an answer that came now is used up.
func (n *Names) until() time.Duration {
	if n.Keep == Forever {
		return Forever
	}
	return Now() + n.Keep
}

// ResolverOf asks name servers ("10.0.0.53" or "10.0.0.53:5353") instead of those of
// the system, each question's tries going to them in turn.
func ResolverOf(servers []string) (*net.Resolver, error) {
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
