//go:build linux

package cluster

import (
	"net"
	"testing"
)

// New hosts leave the bridge's address as it is: else answers that are under way to it are lost.
func TestHostsLeaveTheBridgeAlone(t *testing.T) {
	t.Parallel()
	address := func() string {
		bridge, err := net.InterfaceByName("br0")
		if err != nil {
			t.Fatal(err)
		}
		return bridge.HardwareAddr.String()
	}
	before := address()
	for range 24 {
		NewHost(t, "passing")
		if now := address(); now != before {
			t.Fatalf("the bridge's address is %s, and was %s", now, before)
		}
	}
}
