package servers

import (
	"net"
	"strings"
	"testing"
)

func TestNATSEndsWithItsTest(t *testing.T) {
	NoLeaks(t)
	var addr string
	t.Run("server", func(t *testing.T) {
		s := NATSCluster(t, 1, "")[0]
		addr = strings.TrimPrefix(s.URL, "nats://")
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("it accepts connections after its test")
	}
}
