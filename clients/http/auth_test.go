package http

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// nginx accepts only the right user.
func TestBasicOfNginx(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("me:{PLAIN}sécret x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ng := servers.Nginx(t, `location /private/ { auth_basic "here"; auth_basic_user_file `+file+`; alias html/; }`)
	for _, tt := range []struct {
		auth    Auth
		headers map[string]string
		want    int
	}{
		{Auth{}, nil, 401},
		{Basic("me", "sécret x"), nil, 200},
		{Basic("me", "wrong"), nil, 401},
		{Bearer("abc"), nil, 401},
		{Basic("me", "sécret x"), map[string]string{"authorization": "Basic eDp5"}, 401}, // the caller's own
	} {
		ctx, c, rec := newClient(t, Options{Auth: tt.auth})
		for range 3 {
			if r, err := c.Do(ctx, Request{URL: ng.URL + "/private/", Headers: tt.headers}); err != nil || r.Status != tt.want {
				t.Errorf("%v: %d, %v; want %d", tt.auth, r.Status, err, tt.want)
			}
		}
		if n := rec.Counts("home.")[fmt.Sprint("status.", tt.want)]; n != 3 {
			t.Errorf("%v: %d answers %d, want 3", tt.auth, n, tt.want)
		}
		if c.c.last.Load() == nil {
			t.Errorf("%v: no template, the fast way is lost", tt.auth)
		}
	}
}

// Clients of one prefix share templates, but not the credentials in them.
func TestAuthIsOwn(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		fmt.Fprint(w, r.Header["Authorization"])
	}))
	t.Cleanup(srv.Close)
	ctx, first, _ := newClient(t)
	for range 3 {
		for _, token := range []string{"", "a", "b", "a"} {
			o, want := Options{}, "[]"
			if token != "" {
				o.Auth, want = Bearer(token), "[Bearer "+token+"]"
			}
			c, err := NewHttpClient(ctx, "home", o)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got, err := c.Get(ctx, srv.URL, nil); err != nil || string(got) != want {
					t.Errorf("token %q: %s, %v", token, got, err)
				}
			}
		}
		if got, err := first.Get(ctx, srv.URL, nil); err != nil || string(got) != "[]" {
			t.Errorf("without: %s, %v", got, err)
		}
	}
}

func TestWrongAuth(t *testing.T) {
	t.Parallel()
	ctx, _, _ := newClient(t)
	for want, auth := range map[string]Auth{
		"user of Basic has a colon":                            Basic("a:b", "c"),
		"token of Bearer is empty":                             Bearer(""),
		"control character in the user, password or token":     Bearer("a\r\nX: 1"),
		"Auth: control character in the user, password or tok": Digest("a\n", "b"),
	} {
		if _, err := NewHttpClient(ctx, "home", Options{Auth: auth}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if s := fmt.Sprintf("%v %+v %#v", Basic("me", "secret"), Options{Auth: Digest("me", "secret")}, Bearer("secret")); strings.Contains(s, "secret") {
		t.Errorf("a printed password: %s", s)
	}
}

// The examples of RFC 7616, section 3.9, and of RFC 2617, section 3.5.
func TestDigestVectors(t *testing.T) {
	t.Parallel()
	const mufasa = `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for _, tt := range []struct {
		challenge, user, password, cnonce, uri, want string
	}{
		{fmt.Sprintf(mufasa, "MD5"), "Mufasa", "Circle of Life", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "/dir/index.html", "8ca523f5e9506fed4657c9700eebdbec"},
		{fmt.Sprintf(mufasa, "SHA-256"), "Mufasa", "Circle of Life", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "/dir/index.html",
			"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"},
		{`Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDssOS", charset=UTF-8, userhash=true`,
			"J\u00e4s\u00f8n Doe", "Secret, or not?", "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm", "/doe.json", ""},
		{`Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"`,
			"Mufasa", "Circle Of Life", "0a4f113b", "/dir/index.html", "6629fae49393a05397450978507c4ef1"},
	} {
		n, stale := parseChallenges([]byte("WWW-Authenticate: " + tt.challenge + "\r\n\r\n"))
		if n == nil || stale {
			t.Errorf("no challenge in %s", tt.challenge)
			continue
		}
		got := n.credentials(Digest(tt.user, tt.password), "GET", tt.uri, tt.cnonce, 1)
		p := authParams(strings.TrimPrefix(got, "Digest "))
		if tt.want != "" && p["response"] != tt.want || p["nc"] != "00000001" || p["qop"] != "auth" || p["uri"] != tt.uri || p["cnonce"] != tt.cnonce {
			t.Errorf("%s\nwant response %s", got, tt.want)
		}
		if strings.Contains(tt.challenge, "userhash") && p["username"] != "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b" {
			t.Errorf("user %s of %s", p["username"], got)
		}
	}
}

// Tests which of several challenges is answered, and which are not supported.
func TestChallenges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ lines, want string }{
		{`WWW-Authenticate: Digest realm="a", nonce="1"`, "1"},
		{`www-authenticate: digest REALM=a, Nonce=1`, "1"},
		{`WWW-Authenticate: Basic realm="a, Digest nonce=0", Digest realm="b", nonce="1"`, "1"},
		{`WWW-Authenticate: Negotiate, Digest realm="b", nonce="1", Basic realm="x"`, "1"},
		{"WWW-Authenticate: Negotiate abc=\r\nWWW-Authenticate: Digest realm=\"b\", nonce=\"1\"", "1"},
		{"WWW-Authenticate: Digest realm=\"b\", nonce=\"1\", algorithm=SHA-256\r\nWWW-Authenticate: Digest realm=\"b\", nonce=\"2\"", "1"},
		{"WWW-Authenticate: Digest realm=\"b\", nonce=\"1\", algorithm=SHA-3\r\nWWW-Authenticate: Digest realm=\"b\", nonce=\"2\"", "2"},
		{`WWW-Authenticate: Digest realm="b", nonce="1", qop="auth-int"`, ""},
		{`WWW-Authenticate: Digest realm="b", nonce="q\"uo\\ted"`, `q"uo\ted`},
		{`WWW-Authenticate: Digest realm="b"`, ""},
		{`WWW-Authenticate: Digest`, ""},
		{`WWW-Authenticate: Basic realm="b"`, ""},
		{`WWW-Authenticate: Digest realm="b", nonce="1", algorithm="MD5, x=y"`, ""},
		{`X: 1`, ""},
	} {
		got := ""
		if n, _ := parseChallenges([]byte(tt.lines + "\r\n\r\n")); n != nil {
			got = n.value
		}
		if got != tt.want {
			t.Errorf("%s: nonce %q, want %q", tt.lines, got, tt.want)
		}
	}
}

// digestServer checks credentials by the RFC, with its own code.
type digestServer struct {
	algorithm, qop string
	lasts          int  // uses of a nonce before it is stale
	next           bool // sends the next nonce in advance

	mu      sync.Mutex
	nonce   string
	uses    map[string]int // of nonce and count
	asked   int
	refused int
}

func (d *digestServer) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	challenge := func(stale bool) {
		d.nonce, d.uses, d.asked = rand.Text(), map[string]int{}, d.asked+1
		c := fmt.Sprintf(`Digest realm="a \"b\"", nonce="%s", opaque="o", stale=%v`, d.nonce, stale)
		if d.qop != "" {
			c += `, qop="` + d.qop + `"`
		}
		if d.algorithm != "" {
			c += ", algorithm=" + d.algorithm
		}
		w.Header().Set("WWW-Authenticate", c)
		w.WriteHeader(401)
		fmt.Fprint(w, "who are you?")
	}
	credentials, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Digest ")
	if !ok {
		challenge(false)
		return
	}
	p := authParams(credentials)
	if p["nonce"] != d.nonce || d.lasts > 0 && len(d.uses) >= d.lasts {
		challenge(true)
		return
	}
	sum := func(s string) string {
		h := map[string]func() hash.Hash{"": md5.New, "MD5": md5.New, "SHA-256": sha256.New}[strings.TrimSuffix(d.algorithm, "-sess")]()
		h.Write([]byte(s))
		return hex.EncodeToString(h.Sum(nil))
	}
	a1 := sum(`me:a "b":secret`)
	if strings.HasSuffix(d.algorithm, "-sess") {
		a1 = sum(a1 + ":" + p["nonce"] + ":" + p["cnonce"])
	}
	a2 := sum(r.Method + ":" + r.RequestURI)
	want := sum(a1 + ":" + p["nonce"] + ":" + a2)
	if d.qop != "" {
		want = sum(a1 + ":" + p["nonce"] + ":" + p["nc"] + ":" + p["cnonce"] + ":auth:" + a2)
		if d.uses[p["nc"]]++; d.uses[p["nc"]] > 1 || p["qop"] != "auth" {
			d.refused++ // a count used twice is a replay
		}
	}
	if p["response"] != want || p["uri"] != r.RequestURI || p["opaque"] != "o" || p["username"] != "me" || p["algorithm"] != d.algorithm {
		d.refused++
		challenge(false)
		return
	}
	if d.next {
		d.nonce, d.uses = rand.Text(), map[string]int{}
		w.Header().Set("Authentication-Info", `nextnonce="`+d.nonce+`"`)
	}
	echo(w, r)
}

func TestDigest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		server     *digestServer
		calls      int
		challenges int
	}{
		{"MD5", &digestServer{algorithm: "MD5", qop: "auth"}, 5, 1},
		{"no algorithm", &digestServer{qop: "auth,auth-int"}, 5, 1},
		{"no qop", &digestServer{}, 5, 1},
		{"SHA-256", &digestServer{algorithm: "SHA-256", qop: "auth"}, 5, 1},
		{"MD5-sess", &digestServer{algorithm: "MD5-sess", qop: "auth"}, 5, 1},
		{"SHA-256-sess", &digestServer{algorithm: "SHA-256-sess", qop: "auth-int, auth"}, 5, 1},
		{"stale after two", &digestServer{algorithm: "MD5", qop: "auth", lasts: 2}, 6, 3},
		{"next nonce", &digestServer{algorithm: "MD5", qop: "auth", next: true}, 5, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(tt.server)
			t.Cleanup(srv.Close)
			ctx, c, rec := newClient(t, Options{Auth: Digest("me", "secret")})
			for i := range tt.calls {
				body, err := c.Put(ctx, fmt.Sprintf("%s/a%d?b=%%20", srv.URL, i%3), []byte("hello"), nil)
				if err != nil || !strings.HasSuffix(string(body), "body=hello") {
					t.Errorf("call %d: %s, %v", i, body, err)
				}
			}
			wantCounts(t, rec, counts{"http_ok": int64(tt.calls), "latency": int64(tt.calls), "challenges": int64(tt.challenges)})
			if tt.server.refused != 0 || tt.server.asked != tt.challenges {
				t.Errorf("%d refused, %d challenges; want 0, %d", tt.server.refused, tt.server.asked, tt.challenges)
			}
		})
	}
}

// Wrong credentials are sent once per call, and the call returns the 401.
func TestDigestRefused(t *testing.T) {
	t.Parallel()
	d := &digestServer{qop: "auth"}
	srv := httptest.NewServer(d)
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t, Options{Auth: Digest("me", "wrong")})
	for range 3 {
		if body, err := c.Get(ctx, srv.URL, nil); err != nil || string(body) != "who are you?" {
			t.Errorf("%s, %v", body, err)
		}
	}
	wantCounts(t, rec, counts{"http_fail": 3, "latency": 3, "challenges": 3})
	if d.asked != 6 {
		t.Errorf("%d challenges, want 6", d.asked)
	}
	// A server that reports every nonce as stale does not cause an endless loop.
	stale := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("WWW-Authenticate", `Digest realm="a", nonce="`+rand.Text()+`", qop="auth", stale=true`)
		w.WriteHeader(401)
	}))
	t.Cleanup(stale.Close)
	ctx, c, rec = newClient(t, Options{Auth: Digest("me", "wrong")})
	if _, err := c.Get(ctx, stale.URL, nil); err != nil {
		t.Error(err)
	}
	wantCounts(t, rec, counts{"http_fail": 1, "latency": 1, "challenges": maxChallenges})
}

// Only the server in the call's URL receives credentials.
func TestDigestAway(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another server got credentials")
		}
		w.Header().Set("WWW-Authenticate", `Digest realm="a", nonce="1", qop="auth"`)
		w.WriteHeader(401)
	}))
	t.Cleanup(other.Close)
	home := httptest.NewServer(nethttp.RedirectHandler(other.URL, nethttp.StatusFound))
	t.Cleanup(home.Close)
	ctx, c, rec := newClient(t, Options{Auth: Digest("me", "secret"), MaxRedirects: 2})
	for range 2 {
		if r, err := c.Do(ctx, Request{URL: home.URL}); err != nil || r.Status != 401 {
			t.Errorf("%d, %v", r.Status, err)
		}
	}
	wantCounts(t, rec, counts{"http_fail": 2, "latency": 2, "redirects": 2})
}

// Concurrent calls of one client never use a nonce's count twice.
func TestDigestAtOnce(t *testing.T) {
	t.Parallel()
	d := &digestServer{qop: "auth"}
	srv := httptest.NewServer(d)
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t, Options{Auth: Digest("me", "secret")})
	if err := c.GetIgnoreRes(ctx, srv.URL, nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _ = c.GetIgnoreRes(ctx, srv.URL, nil) })
	}
	wg.Wait()
	wantCounts(t, rec, counts{"http_ok": 51, "latency": 51, "challenges": 1})
	if d.refused != 0 {
		t.Errorf("%d replays", d.refused)
	}
}
