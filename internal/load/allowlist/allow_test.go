package allowlist

import (
	"net/netip"
	"strings"
	"testing"
)

var cluster = []string{"169.254.0.0/16", "fe80::/10", "unix:", "10.0.0.1:8080", "127.0.0.0/8:8080", "[::1]:8080"}

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why         string
		allow, deny []string
		to, name    string
		ok          bool
	}{
		{"nothing is listed", nil, nil, "10.0.0.9:80", "", true},
		{"an address", []string{"10.0.0.9"}, nil, "10.0.0.9:80", "", true},
		{"another address", []string{"10.0.0.9"}, nil, "10.0.0.8:80", "", false},
		{"a port", []string{"10.0.0.9:443"}, nil, "10.0.0.9:443", "", true},
		{"another port", []string{"10.0.0.9:443"}, nil, "10.0.0.9:80", "", false},
		{"a prefix", []string{"10.0.0.0/8"}, nil, "10.255.0.9:80", "", true},
		{"a prefix and a port", []string{"10.0.0.0/8:443"}, nil, "10.255.0.9:80", "", false},
		{"IPv6", []string{"[2001:db8::/32]:443"}, nil, "[2001:db8::9]:443", "", true},
		{"IPv4 in IPv6", []string{"10.0.0.9"}, nil, "[::ffff:10.0.0.9]:80", "", true},
		{"an entry that is IPv4 in IPv6", []string{"::ffff:10.0.0.0/104"}, nil, "10.0.0.9:80", "", true},
		{"a name", []string{"a.example"}, nil, "192.0.2.1:80", "A.Example.", true},
		{"a name below", []string{"*.example"}, nil, "192.0.2.1:80", "a.b.example", true},
		{"the name above", []string{"*.example"}, nil, "192.0.2.1:80", "example", false},
		{"a name that ends alike", []string{"*.example"}, nil, "192.0.2.1:80", "notexample", false},
		{"another name for an address", []string{"192.0.2.0/24"}, nil, "192.0.2.1:80", "b.example", true},
		{"a name bound anew to this host", []string{"a.example"}, nil, "127.0.0.1:80", "a.example", false},
		{"and to it in IPv6", []string{"a.example"}, nil, "[::1]:80", "a.example", false},
		{"and to the unspecified address", []string{"a.example"}, nil, "0.0.0.0:80", "a.example", false},
		{"and to metadata", []string{"a.example"}, nil, "169.254.169.254:80", "a.example", false},
		{"this host's name", []string{"localhost"}, nil, "127.0.0.1:80", "localhost", true},
		{"all but what is denied", nil, cluster, "192.0.2.1:80", "", true},
		{"metadata", nil, cluster, "169.254.169.254:80", "", false},
		{"metadata in IPv6", nil, cluster, "[::ffff:169.254.169.254]:80", "", false},
		{"link-local in a zone", nil, cluster, "[fe80::1%eth0]:80", "", false},
		{"metadata by a name", nil, cluster, "169.254.169.254:80", "a.example", false},
		{"metadata among all", []string{"0.0.0.0/0"}, cluster, "169.254.169.254:80", "", false},
		{"metadata, listed", []string{"169.254.169.254"}, cluster, "169.254.169.254:80", "", true},
		{"link-local, listed by a prefix", []string{"169.254.7.0/24"}, cluster, "169.254.7.9:80", "", true},
		{"metadata, its name listed", []string{"metadata.example"}, cluster, "169.254.169.254:80", "metadata.example", false},
		{"the master", nil, cluster, "10.0.0.1:8080", "", false},
		{"the master, listed", []string{"10.0.0.1:8080"}, cluster, "10.0.0.1:8080", "", false},
		{"the master's host", nil, cluster, "10.0.0.1:80", "", true},
		{"the master by the unspecified address", nil, cluster, "0.0.0.0:8080", "", false},
		{"the master by another loopback address", nil, cluster, "127.9.9.9:8080", "", false},
	} {
		l, err := New(tt.allow, tt.deny)
		if err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		again, err := Parse(l.String())
		if err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		for _, l := range []*List{l, again} {
			if err := l.Address(netip.MustParseAddrPort(tt.to), tt.name); (err == nil) != tt.ok {
				t.Errorf("%s: %s (%s) in %s: %v, want ok %v", tt.why, tt.to, tt.name, l, err, tt.ok)
			}
		}
	}
}

func TestNameAndUnix(t *testing.T) {
	t.Parallel()
	var none *List
	l, err := New([]string{"a.example:80", "10.0.0.0/8", "unix:/run/a.sock"}, cluster)
	if err != nil {
		t.Fatal(err)
	}
	open, err := New(nil, cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		why  string
		err  error
		want bool // it is refused
	}{
		{"no list", none.Name("b.example", 80), false},
		{"a name", l.Name("a.example", 80), false},
		{"another port", l.Name("a.example", 443), true},
		{"another name", l.Name("b.example", 80), true},
		{"an address", l.Name("10.0.0.9", 80), false},
		{"another address", l.Name("192.0.2.1", 80), true},
		{"metadata", open.Name("169.254.169.254", 80), true},
		{"any name", open.Name("b.example", 80), false},
		{"any socket", none.Unix("/run/b.sock"), false},
		{"a socket", l.Unix("/run/a.sock"), false},
		{"another socket", l.Unix("/run/b.sock"), true},
		{"a socket where none is listed", open.Unix("/run/b.sock"), true},
	} {
		if (tt.err != nil) != tt.want {
			t.Errorf("%s: %v, want refused %v", tt.why, tt.err, tt.want)
		}
	}
}

func TestBadEntries(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "http://a.example/", "a..example", "*", "a.*", "a.example:", "a.example:0", "a.example:65536", "a.example:http", "10.0.0.0/33",
		"[::1", "::1]:80", "a b", "a.example/24", "10.0.0.1,10.0.0.2", strings.Repeat("a", 64), "ä.example", "*.", ":80", "[]:80"} {
		if l, err := New([]string{text}, nil); err == nil {
			t.Errorf("%q is taken as %+v", text, l.allow)
		}
	}
	for _, text := range []string{"{", `{"allow": "a"}`, `{"allow": ["a b"]}`, `["10.0.0.1"]`} {
		if l, err := Parse(text); err == nil {
			t.Errorf("%q is taken as %s", text, l)
		}
	}
}

func FuzzEntry(f *testing.F) {
	for _, text := range []string{"a.example:80", "*.example", "10.0.0.0/8:443", "[fe80::1%eth0]:80", "unix:/x", "::ffff:1.2.3.4", "[::/0]:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := New([]string{text}, []string{text})
		if err != nil {
			return
		}
		again, err := Parse(l.String())
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, to := range []string{"127.0.0.1:80", "[fe80::1%a]:443", "10.1.2.3:1"} {
			a := netip.MustParseAddrPort(to)
			if got, want := again.Address(a, "a.example"), l.Address(a, "a.example"); (got == nil) != (want == nil) {
				t.Errorf("%q: %s: %v and %v", text, to, got, want)
			}
		}
	})
}
