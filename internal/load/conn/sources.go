package conn

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
)

// sources are the local addresses that connections come from, used in turn.
type sources struct {
	v4, v6 family
}

// family holds the addresses of one IP version, as ranges.
type family struct {
	spans []span
	total uint64
	turn  atomic.Uint64
}

// span is count consecutive addresses, starting with first.
type span struct {
	first netip.Addr
	count uint64
}

// maxSpan is the largest number of addresses used of one prefix.
const maxSpan = 1 << 20

// parseSources parses addresses ("10.0.0.7") and prefixes ("127.1.0.0/24"; of IPv4 without the
// network's own and the broadcast address). Of a prefix at most the first maxSpan addresses
// are used. The error names an entry that is malformed, or whose first address does not belong
// to this host.
func parseSources(texts []string) (*sources, error) {
	s := &sources{}
	for _, text := range texts {
		sp, err := parseSpan(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		f := &s.v6
		if sp.first.Is4() {
			f = &s.v4
		}
		l, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(sp.first, 0)))
		if err != nil {
			return nil, fmt.Errorf("%q: %s is no address of this host: %w", text, sp.first, err)
		}
		_ = l.Close()
		f.spans = append(f.spans, sp)
		f.total += sp.count
	}
	return s, nil
}

// parseSpan parses one entry of parseSources, without checking that it belongs to this host.
func parseSpan(text string) (span, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return span{ip.Unmap(), 1}, nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return span{}, fmt.Errorf("%q: want a local IP address, or a prefix such as 127.1.0.0/24", text)
	}
	p = p.Masked()
	free := p.Addr().BitLen() - p.Bits()
	sp := span{p.Addr(), maxSpan}
	if free < bits.TrailingZeros(maxSpan) {
		sp.count = 1 << free
	}
	if p.Addr().Is4() && free > 1 {
		sp.first = sp.first.Next()
		sp.count -= 2
	}
	return sp, nil
}

// next returns the next address in rotation, over all connections; false if s has none of that
// IP version. Any number of goroutines may call it at once.
func (s *sources) next(v4 bool) (netip.Addr, bool) {
	f := &s.v6
	if v4 {
		f = &s.v4
	}
	if f.total == 0 {
		return netip.Addr{}, false
	}
	i := (f.turn.Add(1) - 1) % f.total
	for _, sp := range f.spans {
		if i < sp.count {
			return sp.nth(i), true
		}
		i -= sp.count
	}
	panic("conn: sources.total is not the sum of its spans")
}

// nth returns the nth address of a span, from 0; n must be below count. A span is so short
// that only the lowest 32 bits differ.
func (sp span) nth(n uint64) netip.Addr {
	b := sp.first.AsSlice()
	low := b[len(b)-4:]
	binary.BigEndian.PutUint32(low, binary.BigEndian.Uint32(low)+uint32(n))
	ip, _ := netip.AddrFromSlice(b)
	return ip.WithZone(sp.first.Zone())
}
