package hoststat

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// linkOf returns the speed, in Mbit/s, of the network device that has an address of this host; 0
// if that is unknown, as of the loopback device and most virtual ones.
func linkOf(address string) int64 {
	ip := net.ParseIP(address)
	devices, err := net.Interfaces()
	if ip == nil || err != nil {
		return 0
	}
	for _, d := range devices {
		addresses, err := d.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return speedOf("/sys", d.Name)
			}
		}
	}
	return 0
}

// speedOf returns the speed of a device, in Mbit/s, as sysfs at root has it; 0 if it is unknown.
func speedOf(root, device string) int64 {
	b, err := os.ReadFile(filepath.Join(root, "class/net", device, "speed"))
	if err != nil {
		return 0 // it has none
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n < 0 { // -1: it does not know
		return 0
	}
	return n
}
