package conn

import "testing"

// Dialers of one run with equal options share the rotation of sources and the cache of
// names; those of different runs, or with different options, do not.
func TestDialersShare(t *testing.T) {
	t.Parallel()
	stored := map[any]any{}
	shared := func(key any, make func() (any, error)) (any, error) {
		if v, ok := stored[key]; ok {
			return v, nil
		}
		v, err := make()
		stored[key] = v
		return v, err
	}
	dialer := func(o Options, shared func(any, func() (any, error)) (any, error)) *Dialer {
		d, err := NewDialer(o, shared)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	o := Options{Sources: []string{"127.0.0.1"}, DNSCache: Forever, DNSServers: []string{"127.0.0.1"}}
	first := dialer(o, shared)
	if d := dialer(o, shared); d.sources != first.sources || d.names != first.names {
		t.Error("equal options: not shared")
	}
	if d := dialer(o, nil); d.sources == first.sources || d.names == first.names {
		t.Error("without a shared function: shared")
	}
	other := o
	other.DNSCache = 1
	if d := dialer(other, shared); d.sources != first.sources || d.names == first.names {
		t.Error("another DNSCache: want the same sources and other names")
	}
	p, err := ParseProxy("http://a.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := first.Through(p); d.Proxy() != p || first.Proxy() != nil || d.sources != first.sources || d.names != first.names {
		t.Error("Through: want the same sources and names, another proxy, and the original unchanged")
	}
	if d := dialer(Options{}, shared); *d != (Dialer{}) {
		t.Errorf("no options: %+v, want the zero Dialer", d)
	}
}
