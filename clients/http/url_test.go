package http

import "testing"

func TestParseOrigin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		origin string
		want   target
	}{
		{"http://a.test", target{addr: "a.test:80", host: "a.test", name: "a.test"}},
		{"https://a.test", target{addr: "a.test:443", host: "a.test", name: "a.test", secure: true}},
		{"HTTP://A.test:8080", target{addr: "A.test:8080", host: "A.test:8080", name: "A.test"}},
		{"https://10.0.0.1:8443", target{addr: "10.0.0.1:8443", host: "10.0.0.1:8443", name: "10.0.0.1", secure: true}},
		{"http://[::1]", target{addr: "[::1]:80", host: "[::1]", name: "::1"}},
		{"https://[2001:db8::1]:1", target{addr: "[2001:db8::1]:1", host: "[2001:db8::1]:1", name: "2001:db8::1", secure: true}},
		{"http://[fe80::1%25eth0]:1", target{addr: "[fe80::1%eth0]:1", host: "[fe80::1]:1", name: "fe80::1%eth0"}},
		{"http://a.test:", target{addr: "a.test:80", host: "a.test", name: "a.test"}},
	} {
		tt.want.origin = tt.origin
		if got, err := parseOrigin(tt.origin); err != nil || *got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.origin, got, err, tt.want)
		}
	}
}
