package servers

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
)

func TestCA(t *testing.T) {
	ca, other := NewCA(t), NewCA(t)
	for _, tt := range []struct {
		name  string
		leaf  Leaf
		trust *CA
		want  string // in the error; "": none
	}{
		{"good", Leaf{}, ca, ""},
		{"unknown authority", Leaf{}, other, "unknown authority"},
		{"expired", Leaf{Expired: true}, ca, "expired"},
		{"other name", Leaf{Names: []string{"example.com"}}, ca, "127.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, tt.leaf)}}
			s := Faults(t, func(p *Peer) { tls.Server(p, config).Handshake() })
			client, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = tls.Client(client, &tls.Config{RootCAs: tt.trust.Pool(), ServerName: "127.0.0.1"}).Handshake()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("handshake: %v, want %q", err, tt.want)
			}
		})
	}
}
