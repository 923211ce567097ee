package allowlist

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// entry is an entry of a List.
type entry struct {
	text   string
	prefix netip.Prefix // of addresses; invalid if the entry is not an address
	name   string       // of a host; "" otherwise
	below  bool         // name stands for all names below it
	port   uint16       // 0: all
	unix   bool
	path   string // of the socket; "": all
}

// covers reports whether e is an address or a prefix with ip in it, for this port.
func (e entry) covers(ip netip.Addr, port uint16) bool {
	return e.prefix.IsValid() && e.prefix.Contains(ip) && (e.port == 0 || e.port == port)
}

// named reports whether e is a host name that matches name, in the form of host, and this
// port. It is false for "".
func (e entry) named(name string, port uint16) bool {
	if e.name == "" || name == "" || e.port != 0 && e.port != port {
		return false
	}
	if e.below {
		return strings.HasSuffix(name, "."+e.name)
	}
	return name == e.name
}

// parse parses the texts of entries; nil if there are no texts. The error has the first text
// that is not valid.
func parse(texts []string) (all []entry, err error) {
	for _, text := range texts {
		e, err := parseEntry(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, e)
	}
	return all, nil
}

const want = `want a host ("a.example", "*.example"), an address or a prefix ("10.0.0.0/8"), with ":PORT" or without, or "unix:/PATH"`

// parseEntry parses the text of an entry without white space around it. The error says why it
// is not valid; parse adds the text.
func parseEntry(text string) (e entry, err error) {
	e.text = text
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		e.unix, e.path = true, path
		return e, nil
	}
	if strings.Contains(text, "://") {
		return e, fmt.Errorf("it is a URL: %s", want)
	}
	what, port := split(text)
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return e, fmt.Errorf("port %q: want 1 to 65535", port)
		}
		e.port = uint16(n)
	}
	if ip, err := netip.ParseAddr(what); err == nil {
		ip = plain(ip)
		e.prefix = netip.PrefixFrom(ip, ip.BitLen())
		return e, nil
	}
	if p, err := netip.ParsePrefix(what); err == nil {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		e.prefix = p.Masked()
		return e, nil
	}
	e.name = host(what)
	if e.name, e.below = strings.CutPrefix(e.name, "*."); !isName(e.name) {
		return e, fmt.Errorf("it is not a valid entry: %s", want)
	}
	return e, nil
}

// split separates the port from text, and an IPv6 address from its brackets. port is "" if it
// is missing; it is not checked.
func split(text string) (what, port string) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		if what, rest, ok := strings.Cut(inside, "]"); ok && (rest == "" || len(rest) > 1 && rest[0] == ':') {
			return what, strings.TrimPrefix(rest, ":")
		}
		return text, ""
	}
	if strings.Count(text, ":") == 1 {
		if what, port, _ = strings.Cut(text, ":"); port != "" {
			return what, port
		}
	}
	return text, ""
}

// isName reports whether s is a valid host name in lower case; underscores are allowed.
func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	return true
}
