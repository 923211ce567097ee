package conn

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

func namesFrom(t *testing.T, s *servers.NameServer, keep time.Duration) *names {
	t.Helper()
	r, err := resolverOf([]string{s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	return &names{base: r, ttl: keep}
}

// Concurrent connects share one query, and each starts with another address.
func TestNamesAskOnce(t *testing.T) {
	t.Parallel()
	s := servers.Names(t, map[string][]string{"a.test": {"10.0.0.1", "10.0.0.2", "fd00::1"}})
	n := namesFrom(t, s, Forever)
	var mu sync.Mutex
	first := map[string]int{}
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			addrs, _, err := n.resolve(t.Context(), "A.test:80")
			if err != nil || len(addrs) != 3 {
				t.Error(addrs, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			first[addrs[0].String()]++
		})
	}
	wg.Wait()
	if s.Asked("a.test") != 1 {
		t.Errorf("asked %d times", s.Asked("a.test"))
	}
	if first["10.0.0.1:80"] != 100 || first["10.0.0.2:80"] != 100 || first["[fd00::1]:80"] != 100 {
		t.Errorf("begun with %v, want each 100 times", first)
	}
}

// waiting is a context that closes waits when Done is first called.
type waiting struct {
	context.Context
	once  *sync.Once
	waits chan struct{}
}

func (w waiting) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waits) })
	return w.Context.Done()
}

// A failure is not cached, and if the context of the asking caller ends, the waiting ones
// continue.
func TestNamesFail(t *testing.T) {
	t.Parallel()
	s := servers.Names(t, nil)
	n := namesFrom(t, s, Forever)
	if _, looked, err := n.resolve(t.Context(), "a.test:80"); Classify(err) != DNS || !looked {
		t.Errorf("%v, looked up: %v", err, looked)
	}
	s.Set("a.test", "10.0.0.1")
	s.Break(servers.NamesSilent)
	ctx, cancel := context.WithCancel(t.Context())
	asker, waiter := make(chan error), make(chan error)
	go func() {
		_, _, err := n.resolve(ctx, "a.test:80")
		asker <- err
	}()
	for s.Asked("a.test") < 2 {
		time.Sleep(time.Millisecond)
	}
	waits := waiting{t.Context(), new(sync.Once), make(chan struct{})}
	go func() {
		_, _, err := n.resolve(waits, "a.test:80")
		waiter <- err
	}()
	<-waits.waits // for the answer to the asker
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, _, err := n.resolve(short, "a.test:80"); Classify(err) != DNS || !strings.Contains(err.Error(), "i/o timeout") {
		t.Errorf("no time left: %v", err)
	}
	s.Break(servers.NamesWork)
	cancel()
	if err := <-asker; !errors.Is(err, context.Canceled) {
		t.Errorf("who was canceled: %v", err)
	}
	if err := <-waiter; err != nil {
		t.Errorf("who waited: %v", err)
	}
}

// The cache is limited, whatever names are resolved.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	s := servers.Names(t, map[string][]string{"a.test": {"10.0.0.1"}})
	n := namesFrom(t, s, Forever)
	n.cache = map[string]*entry{}
	for i := range maxNames {
		n.cache[string(rune(i))] = &entry{}
	}
	for range 2 {
		if addrs, _, err := n.resolve(t.Context(), "a.test:80"); err != nil || len(addrs) != 1 {
			t.Error(addrs, err)
		}
	}
	if len(n.cache) != maxNames || s.Asked("a.test") != 2 {
		t.Errorf("%d names kept, asked %d times", len(n.cache), s.Asked("a.test"))
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	s, err := parseSources([]string{"127.1.0.0/30", " 127.2.0.1 ", "127.3.0.0/31", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 6 {
		ip, _ := s.next(true)
		got = append(got, ip.String())
	}
	if want := []string{"127.1.0.1", "127.1.0.2", "127.2.0.1", "127.3.0.0", "127.3.0.1", "127.1.0.1"}; !slices.Equal(got, want) {
		t.Errorf("sources %q, want %q", got, want)
	}
	if ip, ok := s.next(false); !ok || ip != netip.IPv6Loopback() {
		t.Errorf("of IPv6: %v", ip)
	}
	if _, ok := new(sources).next(true); ok {
		t.Error("a source of none")
	}
	wide, err := parseSources([]string{"127.0.0.0/8"})
	if err != nil || wide.v4.total != maxSpan-2 {
		t.Errorf("%v, %d addresses", err, wide.v4.total)
	}
	if ip := wide.v4.spans[0].nth(maxSpan - 3); ip.String() != "127.15.255.254" {
		t.Errorf("the last of a wide prefix is %v", ip)
	}
}

func TestProxyAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://a":                "a:80",
		"https://a/":              "a:443",
		"socks5://me:pw@a":        "a:1080",
		"socks5h://[fd00::1]:999": "[fd00::1]:999",
	} {
		if p, err := ParseProxy(text, nil); err != nil || p.addr != want {
			t.Errorf("%s: %v, %v; want %s", text, p, err, want)
		}
	}
	if p, _ := ParseProxy("http://Aladdin:open%20sesame@a", nil); p.Authorization() != "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" { // RFC 7617
		t.Errorf("authorization %q", p.Authorization())
	}
	for _, password := range []string{"sec/ret", "1/secret", "sec?ret", "1#secret", "%zzsecret", "sec ret\x01", "1:secret@", "secret"} {
		if _, err := ParseProxy("http://me:"+password+"@a:80/more", nil); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v; want an error without the password", password, err)
		}
	}
	if _, err := ParseProxy("http://me:secret", nil); err == nil || strings.Contains(err.Error(), "sec") { // no @
		t.Errorf("%v; want an error without the password", err)
	}
}

// Tests the requests to a SOCKS proxy, byte by byte (RFC 1928, section 4).
func TestSOCKSRequests(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"10.0.0.1:80":                    "\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x50",
		"[::1]:443":                      "\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x01\xbb",
		"a.test:8080":                    "\x05\x01\x00\x03\x06a.test\x1f\x90",
		"::ffff:1.2:80x":                 "",
		strings.Repeat("a", 256) + ":80": "",
	} {
		got, err := socksRequest(t.Context(), addr)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", addr, got, err, want)
		}
	}
}
