// Package allowlist checks where a run may connect to: which hosts, addresses and ports. It
// checks the address of each connection, after its name was resolved, so that a name server
// can't lead a run to a forbidden address. It does no I/O.
//
// It protects against mistakes, and not against malicious scenarios: a scenario is a program,
// which can open connections without gobench's clients. The firewall of the agent's host
// protects against those.
package allowlist

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Env is the environment variable in which an executor receives its List, in the form of
// String. It is read when the process starts.
const Env = "GOBENCH_TARGETS"

// List defines where a run may connect to. Nil and the zero value allow everything. A List is
// immutable, so any number of goroutines may use it at once.
//
// An entry is a host name ("a.example", or "*.example" for all names below it), an address or a
// prefix ("10.0.0.0/8"), each with or without a port after a colon. An IPv6 address with a port
// is in brackets. An entry may also be "unix:" with the path of a socket, or without one for
// all sockets.
type List struct {
	allow, deny []entry
	texts       texts
}

// texts is the JSON form of a List.
type texts struct {
	Allow []string `json:"allow,omitempty"` // empty: all that is not denied
	Deny  []string `json:"deny,omitempty"`
}

// New returns a List with these entries; white space around them is ignored. A denied entry
// with a port, or with a name, always applies. A denied address or prefix without a port can
// be allowed again by an entry that lists exactly that or a part of it; for sockets see Unix.
// If allow is empty, everything that is not denied is allowed. The error has the first invalid
// entry. The List shares the slices, which must not be changed.
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

// Parse parses the form that String returns. For "" it returns nil, which allows everything.
// An invalid text or entry is an error.
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

// String returns the list in the form that Parse accepts: JSON, or "" for nil.
func (l *List) String() string {
	if l == nil {
		return ""
	}
	b, err := json.Marshal(l.texts)
	if err != nil {
		panic(err) // marshaling strings does not fail
	}
	return string(b)
}

// Address returns a *Refusal if a connection to an address is not allowed, and nil if it is.
// name is the name that this host's own resolver resolved to the address; "" if unknown,
// or if the scenario itself defined the name's address. A listed name may have any address
// that is not denied. The host's own, link-local and multicast ones must be listed themselves,
// unless the name is localhost.
func (l *List) Address(to netip.AddrPort, name string) error {
	if l == nil {
		return nil
	}
	ip, name := plain(to.Addr()), host(name)
	refuse := func(why string) error { // built only for a refusal, because each connection calls Address
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

// Name returns a *Refusal if a proxy may not be asked to connect to a host and port, and nil
// if it may. The proxy resolves the name, so only entries with names decide; an address is
// checked by Address.
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

// Unix returns a *Refusal if a connection to a Unix socket is not allowed, and nil if it is.
// Entries match the path exactly as it is given, and an allowed one overrides a denied one.
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

// Refusal is the error for a connection that is not allowed.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

// lifts reports whether an allowed entry for the same address and port overrides the denied
// entry d: one of the same prefix or a longer one. Nothing overrides d if it has a port or a
// name.
func (l *List) lifts(d entry, ip netip.Addr, port uint16) bool {
	return d.port == 0 && d.prefix.IsValid() && slices.ContainsFunc(l.allow, func(e entry) bool {
		return e.covers(ip, port) && e.prefix.Bits() >= d.prefix.Bits()
	})
}

// plain returns the address that is really connected to, without a zone: an IPv4 address
// mapped into IPv6 becomes IPv4, and the unspecified address becomes this host. An invalid one
// is returned unchanged.
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

// own reports whether an address is loopback, link-local, multicast or invalid.
func own(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || !ip.IsValid()
}

// local reports whether a name means this host (RFC 6761, section 6.3).
func local(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

// host returns a name in the form used for comparing.
func host(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
