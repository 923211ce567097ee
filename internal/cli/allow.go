package cli

import (
	"net"
	"net/netip"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/load/allowlist"
)

// allowFlag says where a run may connect to.
type allowFlag struct {
	entries []string
	list    *allowlist.List // nil: everywhere; made by check
}

func (f *allowFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.entries, "allow-target", nil, "connect to this `HOST`, address or prefix (10.0.0.0/8), each with :PORT or without, and to nothing else; may be repeated (default everywhere)")
}

func (f *allowFlag) check() (err error) {
	if len(f.entries) == 0 {
		return nil
	}
	if f.list, err = allowlist.New(f.entries, nil); err != nil {
		return usageError("", "--allow-target %w", err)
	}
	return nil
}

// env tells an executor.
func (f *allowFlag) env() []string {
	if f.list == nil {
		return nil
	}
	return []string{allowlist.Env + "=" + f.list.String()}
}

// ownPorts names the ports that a master listens on, as an allow.List denies them: of the
// API's listener, and where agents connect to.
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
		interfaces, _ := net.InterfaceAddrs() // where there are none to be told, those above are left
		for _, i := range interfaces {
			if n, ok := i.(*net.IPNet); ok && !n.IP.IsLoopback() {
				all = append(all, net.JoinHostPort(n.IP.String(), port))
			}
		}
	}
	return all
}
