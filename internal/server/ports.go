package server

import (
	"net"
	"net/netip"
	"net/url"
)

// ownPorts returns the addresses that a master listens on as HOST:PORT, as an allowlist
// denies them: that of the API's listener, and those that agents connect to, which may be
// URLs. For an unspecified host it returns all addresses of this machine, with
// "127.0.0.0/8:PORT" for loopback. It skips those without a port.
func ownPorts(api net.Addr, agents []string) (all []string) {
	for _, a := range append([]string{api.String()}, agents...) {
		if u, err := url.Parse(a); err == nil && u.Host != "" { // of a NATS cluster
			a = u.Host
		}
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			continue
		}
		ip, err := netip.ParseAddr(host)
		if err == nil && !ip.IsUnspecified() || err != nil && host != "" {
			all = append(all, a)
			continue
		}
		all = append(all, "127.0.0.0/8:"+port, "[::1]:"+port)
		interfaces, _ := net.InterfaceAddrs() // on an error those above are enough
		for _, i := range interfaces {
			if n, ok := i.(*net.IPNet); ok && !n.IP.IsLoopback() {
				all = append(all, net.JoinHostPort(n.IP.String(), port))
			}
		}
	}
	return all
}
