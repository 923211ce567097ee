package server

import (
	"net"
	"slices"
	"testing"

	"github.com/gobench-io/gobench/internal/load/allowlist"
)

func TestOwnPorts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		api    string
		agents []string
		want   []string
	}{
		{"127.0.0.1:8080", []string{"10.0.0.1:8081", "127.0.0.1:8081"}, []string{"127.0.0.1:8080", "10.0.0.1:8081", "127.0.0.1:8081"}},
		{"[::]:8080", nil, []string{"127.0.0.0/8:8080", "[::1]:8080"}},
		{"0.0.0.0:8080", []string{"nats://bus.example:4222", "tls://10.0.0.9:4222"}, []string{"127.0.0.0/8:8080", "bus.example:4222", "10.0.0.9:4222"}},
	} {
		addr, err := net.ResolveTCPAddr("tcp", tt.api)
		if err != nil {
			t.Fatal(err)
		}
		got := ownPorts(addr, tt.agents)
		for _, want := range tt.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s, %q: %q, want %s among them", tt.api, tt.agents, got, want)
			}
		}
		if _, err := allowlist.New(nil, got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
}
