package http

import (
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Cookies are sent back where they belong (RFC 6265), also in redirects, and only with the
// option.
func TestCookies(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/set":
			for _, line := range r.URL.Query()["c"] {
				w.Header().Add("Set-Cookie", line)
			}
		case "/login":
			w.Header().Add("Set-Cookie", "session=1; HttpOnly; Path=/")
			nethttp.Redirect(w, r, "/home", nethttp.StatusSeeOther)
		default:
			fmt.Fprint(w, r.Header["Cookie"])
		}
	}))
	t.Cleanup(srv.Close)
	for _, tt := range []struct {
		name string
		set  []string
		path string
		want string
	}{
		{"one", []string{"a=b"}, "/x", "[a=b]"},
		{"two", []string{"a=b", "c=d"}, "/x", "[a=b; c=d]"},
		{"replaced", []string{"a=b", "a=c"}, "/x", "[a=c]"},
		{"quoted", []string{`a="b c"`}, "/x", `[a="b c"]`},
		{"path", []string{"a=b; Path=/only"}, "/x", "[]"},
		{"within the path", []string{"a=b; Path=/only", "c=d; Path=/"}, "/only/x", "[a=b; c=d]"},
		{"expired", []string{"a=b", "a=; Max-Age=0"}, "/x", "[]"},
		{"another's", []string{"a=b; Domain=other.test"}, "/x", "[]"},
		{"malformed", []string{"a b=c", "=x", "ok=1"}, "/x", "[ok=1]"},
		{"empty", []string{"a="}, "/x", "[a=]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, on := range []bool{true, false} {
				ctx, c, rec := newClient(t, Options{Cookies: on})
				if err := c.GetIgnoreRes(ctx, srv.URL+"/set?"+url.Values{"c": tt.set}.Encode(), nil); err != nil {
					t.Fatal(err)
				}
				want := tt.want
				if !on {
					want = "[]"
				}
				for range 3 {
					if got, err := c.Get(ctx, srv.URL+tt.path, nil); err != nil || string(got) != want {
						t.Errorf("option %v: the server got %s, %v; want %s", on, got, err, want)
					}
				}
				wantCounts(t, rec, counts{"http_ok": 4, "latency": 4})
				if (c.Jar() != nil) != on {
					t.Error("Jar is there without the option, or missing with it")
				}
			}
		})
	}
	ctx, c, _ := newClient(t, Options{Cookies: true, MaxRedirects: 1})
	if got, err := c.Post(ctx, srv.URL+"/login", []byte("me"), nil); err != nil || string(got) != "[session=1]" {
		t.Errorf("after the login: %s, %v", got, err)
	}
	// The caller's own Cookie header replaces the jar's; other clients have their own jars.
	if got, err := c.Get(ctx, srv.URL+"/x", map[string]string{"cookie": "mine=1"}); err != nil || string(got) != "[mine=1]" {
		t.Errorf("own header: %s, %v", got, err)
	}
	_, other, _ := newClient(t, Options{Cookies: true})
	if got, err := other.Get(ctx, srv.URL+"/x", nil); err != nil || string(got) != "[]" {
		t.Errorf("another client: %s, %v", got, err)
	}
	// A scenario may read and set cookies.
	u := mustParse(t, srv.URL)
	if got := fmt.Sprint(c.Jar().Cookies(u)); got != "[session=1]" {
		t.Errorf("the jar has %s", got)
	}
	other.Jar().SetCookies(u, []*nethttp.Cookie{{Name: "seeded", Value: "x"}})
	if got, err := other.Get(ctx, srv.URL+"/x", nil); err != nil || string(got) != "[seeded=x]" {
		t.Errorf("a cookie set by the scenario: %s, %v", got, err)
	}
}

// Tests the jar's rules for hosts that are not available in tests.
func TestCookieRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ set, from, to, want string }{
		{"a=b; Secure", "https://shop.test/", "http://shop.test/", ""},
		{"a=b; Secure", "https://shop.test/", "https://shop.test/x", "Cookie: a=b\r\n"},
		{"a=b", "http://shop.test/", "http://www.shop.test/", ""},
		{"a=b; Domain=shop.test", "http://www.shop.test/", "http://api.shop.test/", "Cookie: a=b\r\n"},
		{"a=b; Domain=shop.test", "http://other.test/", "http://shop.test/", ""},
		{"a=b", "http://shop.test:81/", "http://shop.test:82/", "Cookie: a=b\r\n"}, // RFC 6265, section 8.5
	} {
		_, c, _ := newClient(t, Options{Cookies: true})
		c.c.keepCookies(mustParse(t, tt.from), []byte("Set-Cookie: "+tt.set+"\r\n\r\n"))
		if got := string(c.c.appendCookies(nil, mustParse(t, tt.to), &Request{})); got != tt.want {
			t.Errorf("%q of %s, sent to %s as %q, want %q", tt.set, tt.from, tt.to, got, tt.want)
		}
	}
}

// A client's cookies are shared by its concurrent calls.
func TestCookiesAtOnce(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Add("Set-Cookie", "k"+strings.TrimPrefix(r.URL.Path, "/")+"=1")
	}))
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t, Options{Cookies: true})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { _ = c.GetIgnoreRes(ctx, fmt.Sprintf("%s/%d", srv.URL, i), nil) })
	}
	wg.Wait()
	wantCounts(t, rec, counts{"http_ok": 50, "latency": 50})
	if n := len(c.Jar().Cookies(mustParse(t, srv.URL))); n != 50 {
		t.Errorf("%d cookies, want 50", n)
	}
}
