// Package allowlist says where the connections of a run may go: to which hosts, addresses
// and ports. It judges the address that a connection is made to, after its name was looked
// up, so that a name server can't lead a run to where it may not go. It does no I/O.
//
// It guards against mistakes and against scenarios that mean no harm to gobench itself: a
// scenario is a program, which can open connections without gobench's clients. Against
// that stands the firewall of the agent's host.
package allowlist

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Env names the environment variable by which an executor is told its List, as String
// gives it. It is read when the process begins.
const Env = "GOBENCH_TARGETS"

// List says where connections may go. Nil and the zero value allow everything. It never
// changes, so any number of goroutines may use it at once.
//
// An entry is a host's name ("a.example", "*.example" for all below it), an address, a
// prefix ("10.0.0.0/8"), each of them with a port behind a colon or without, an IPv6 one
// then in brackets, or "unix:" with the path of a socket, or none for all sockets.
type List struct {
	allow, deny []entry
	texts       texts
}

// texts is a List as JSON.
type texts struct {
	Allow []string `json:"allow,omitempty"` // none: all that is not denied
	Deny  []string `json:"deny,omitempty"`
}

// New makes a List of entries. What is denied with a port is denied whatever is allowed.
// What is denied without a port, as all link-local addresses, is allowed where an entry
// lists just that or a part of it. Nothing to allow allows all that is not denied.
func New(allow, deny []string) (l *List, err error) {
	l = &List{texts: texts{allow, deny}}
	if l.allow, err = parse(allow); err != nil {
		return nil, err
	}
	if l.deny, err = parse(deny); err != nil {
		return nil, err
	}
	return l, nil
}

// Parse reads what String gave; an empty text is nil.
func Parse(text string) (*List, error) {
	if text == "" {
		return nil, nil
	}
	var t texts
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, fmt.Errorf("%s: %w", Env, err)
	}
	return New(t.Allow, t.Deny)
}

// String gives the list for Parse.
func (l *List) String() string {
	if l == nil {
		return ""
	}
	b, err := json.Marshal(l.texts)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// Address says why a connection may not be made to an address; nil: it may. Name is the
// name that this host's own resolver gave the address for; "": there is none, or the
// scenario itself said what the name's address is. A name that is listed may lead
// anywhere but to the host's own and link-local addresses, which have to be listed.
func (l *List) Address(to netip.AddrPort, name string) error {
	if l == nil {
		return nil
	}
	ip, name := plain(to.Addr()), host(name)
	refuse := func(why string) error { // made of what is refused only: each connection asks
		what := netip.AddrPortFrom(ip, to.Port()).String()
		if name != "" && name != ip.String() {
			what += " (" + name + ")"
		}
		return &Refusal{what + why}
	}
	named := name != "" && slices.ContainsFunc(l.allow, func(e entry) bool { return e.named(name, to.Port()) })
	for _, d := range l.deny {
		if (d.covers(ip, to.Port()) || d.named(name, to.Port())) && !l.lifts(d, ip, to.Port()) {
			return refuse(" may not be connected to from a run: " + d.text + " is refused")
		}
	}
	switch {
	case len(l.allow) == 0, slices.ContainsFunc(l.allow, func(e entry) bool { return e.covers(ip, to.Port()) }):
		return nil
	case named && (local(name) || !own(ip)):
		return nil
	case named:
		return refuse(" is the host's own address: a name may lead there only where the run's targets list the address, too")
	}
	return refuse(" is not among the run's targets")
}

// Name says why a proxy may not be asked to connect to a host and port; nil: it may.
// What the name leads to is the proxy's to look up.
func (l *List) Name(name string, port uint16) error {
	if l == nil {
		return nil
	}
	if ip, err := netip.ParseAddr(host(name)); err == nil {
		return l.Address(netip.AddrPortFrom(ip, port), "")
	}
	name = host(name)
	is := func(e entry) bool { return e.named(name, port) }
	if slices.ContainsFunc(l.deny, is) || len(l.allow) > 0 && !slices.ContainsFunc(l.allow, is) {
		return &Refusal{fmt.Sprintf("%s:%d is not among the run's targets: a name that a proxy looks up has to be listed by name", name, port)}
	}
	return nil
}

// Unix says why a Unix socket may not be connected to; nil: it may.
func (l *List) Unix(path string) error {
	if l == nil {
		return nil
	}
	is := func(e entry) bool { return e.unix && (e.path == "" || e.path == path) }
	listed := slices.ContainsFunc(l.allow, is)
	if !listed && (len(l.allow) > 0 || slices.ContainsFunc(l.deny, is)) {
		return &Refusal{"unix:" + path + " is not among the run's targets"}
	}
	return nil
}

// Refusal says why a connection may not be made.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

// lifts tells whether what is allowed says so of something denied: with a port, never.
func (l *List) lifts(d entry, ip netip.Addr, port uint16) bool {
	return d.port == 0 && d.prefix.IsValid() && slices.ContainsFunc(l.allow, func(e entry) bool {
		return e.covers(ip, port) && e.prefix.Bits() >= d.prefix.Bits()
	})
}

// plain is the address that a connection is made to: one of IPv4 in IPv6 is of IPv4, and
// the unspecified one is this host.
func plain(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	switch {
	case !ip.IsUnspecified():
		return ip
	case ip.Is4():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

// own tells whether an address is of this host alone, or of its link.
func own(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || !ip.IsValid()
}

// local tells whether a name stands for this host (RFC 6761, section 6.3).
func local(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

// host is a name as names are compared.
func host(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
