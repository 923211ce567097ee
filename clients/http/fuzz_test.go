package http

import (
	"bufio"
	"bytes"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// FuzzResponse parses any bytes as an answer: whole, and split in two. The result must be the
// same, it must never read beyond the answer, and net/http must parse every accepted answer in
// the same way.
func FuzzResponse(f *testing.F) {
	for i, a := range answers {
		f.Add([]byte(a.bytes), uint16(len(a.bytes)/2), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, head bool) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		var trailers []byte
		read := func(discard bool, parts ...string) (answer, int) {
			q := &call{request: Request{Method: method, Discard: discard}, maxBody: 1 << 20, keepHead: true}
			r := &replay{parts: parts, end: io.EOF}
			cn := conn.New(r)
			again, err := q.receive(cn)
			used := int(cn.In()) - len(cn.Unread())
			cn.Drop()
			for range q.response().Header.All() { // must not panic either
			}
			trailers = q.trailers
			return answer{q.status, string(q.body), again, err}, used
		}
		whole, used := read(false, string(data))
		ends := trailers
		at := int(cut) % (len(data) + 1)
		parts, usedParts := read(false, string(data[:at]), string(data[at:]))
		if whole.err == nil && used < len(data) {
			parts.again = whole.again // whether bytes after the answer have arrived is random
		}
		if !bytes.Equal(trailers, ends) {
			t.Fatalf("trailers %q; cut at %d: %q", ends, at, trailers)
		}
		if whole != parts || whole.err == nil && used != usedParts {
			t.Fatalf("whole: %+v of %d bytes; cut at %d: %+v of %d bytes", whole, used, at, parts, usedParts)
		}
		if discarded, _ := read(true, string(data)); whole.err == nil && (discarded.err != nil || discarded.status != whole.status) {
			t.Fatalf("kept: %+v; discarded: %+v", whole, discarded)
		}
		if whole.err != nil {
			return
		}
		// The oracle reads one answer, as we do, after interim ones.
		in := bytes.NewReader(data)
		b := bufio.NewReader(in)
		for {
			res, err := nethttp.ReadResponse(b, &nethttp.Request{Method: method})
			if err != nil {
				return // it is stricter in places, so it may reject more
			}
			if res.StatusCode < 200 && res.StatusCode >= 100 {
				continue
			}
			body, err := io.ReadAll(res.Body)
			if err != nil {
				return
			}
			if res.StatusCode != whole.status || string(body) != whole.body {
				t.Fatalf("we read %+v; net/http %d %q", whole, res.StatusCode, body)
			}
			return
		}
	})
}

// FuzzLocation follows any Location. The result is nil, or a URL that may be sent, without a
// user and without a fragment.
func FuzzLocation(f *testing.F) {
	for _, location := range []string{"/x", "//b.test/y?z#f", "https://b.test:81/é b", "http://u:p@b.test/", "?a", "..", "\x00", "http://[::1%25eth0]/", "HTTP://B.test/%2e"} {
		f.Add(location, "http://a.test/dir/page?q")
	}
	_, c, _ := newClient(f, Options{MaxRedirects: 1})
	f.Fuzz(func(t *testing.T, location, base string) {
		if strings.ContainsAny(location, "\r\n") {
			return // not a valid header value
		}
		from, err := url.Parse(base)
		if err != nil {
			return
		}
		fl := &follow{c: c.c, raw: from.String()}
		to := fl.points([]byte("Location: " + location + "\r\n\r\n"))
		if to == nil {
			return
		}
		q := &call{request: Request{Method: "GET", URL: to.String()}}
		if err := c.c.prepare(q); err != nil {
			t.Fatalf("%q leads to %q: %v", location, to, err)
		}
		q.follow = nil
		sent := q.appendRequest(nil)
		got, err := nethttp.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil {
			if strings.ContainsAny(to.String(), "%") || strings.HasPrefix(q.path, "//") {
				return // only the server can check it
			}
			t.Fatalf("%q leads to %q: %v", location, sent, err)
		}
		if got.Host != q.target.host || to.User != nil || to.Fragment != "" {
			t.Fatalf("%q leads to %q of %q", location, sent, got.Host)
		}
	})
}

// FuzzChallenge parses any WWW-Authenticate. The answer to a challenge is one header line,
// which parses back to the same values.
func FuzzChallenge(f *testing.F) {
	f.Add(`Digest realm="a", nonce="b", qop="auth", algorithm=SHA-256, opaque="c"`, "me", "secret")
	f.Add(`Basic realm="x", Digest nonce="\"", realm="a\\", userhash=true, algorithm=MD5-sess`, `m"e\`, "")
	f.Add(`Digest nonce=,,,=,"`, "", "é")
	f.Fuzz(func(t *testing.T, challenge, user, password string) {
		auth := Digest(user, password)
		if auth.check() != nil {
			return
		}
		n, _ := parseChallenges([]byte("WWW-Authenticate: " + challenge + "\r\n\r\n"))
		if n == nil {
			return
		}
		n.begin(auth, "cnonce")
		got := n.credentials(auth, "GET", "/x", "cnonce", 1)
		if strings.ContainsAny(got, "\r\n\x00") {
			t.Fatalf("%q is more than a line", got)
		}
		p := authParams(strings.TrimPrefix(got, "Digest "))
		if p["nonce"] != n.value || p["realm"] != n.realm || p["opaque"] != n.opaque || !n.hidden && p["username"] != user || p["uri"] != "/x" {
			t.Fatalf("%q reads back as %q", got, p)
		}
	})
}

// sink stores what is written to it.
type sink struct {
	replay
	bytes.Buffer
}

func (s *sink) Read(p []byte) (int, error)  { return s.replay.Read(p) }
func (s *sink) Write(p []byte) (int, error) { return s.Buffer.Write(p) }

// FuzzUpload sends any body in any form: net/http reads it back as one request.
func FuzzUpload(f *testing.F) {
	f.Add([]byte("hello"), uint8(0), "X-Sum", "abc")
	f.Add([]byte(""), uint8(1), "X", "")
	f.Add(bytes.Repeat([]byte("x"), 3*pieceSize+1), uint8(2), "", "")
	f.Add([]byte("0\r\n\r\nGET / HTTP/1.1\r\n\r\n"), uint8(3), "Content-Length", "3")
	_, c, _ := newClient(f)
	f.Fuzz(func(t *testing.T, body []byte, how uint8, name, value string) {
		r := Request{Method: "PUT", URL: "http://a.test/", Chunked: how&1 > 0}
		if r.Body = body; how&2 > 0 {
			r.Body, r.Source = nil, sourceFunc(func() (io.ReadCloser, int64, error) {
				size := int64(len(body))
				if how&4 > 0 {
					size = -1
				}
				return io.NopCloser(bytes.NewReader(body)), size, nil
			})
		}
		if how&8 > 0 {
			r.Trailers = map[string]string{name: value}
		}
		q := &call{request: r, maxBody: 100}
		if c.c.prepare(q) != nil || q.upload == nil {
			return
		}
		defer q.done()
		s := &sink{replay: replay{parts: []string{ok}, end: io.EOF}}
		q.upload.start(conn.New(s), q.appendRequest(nil))
		if err := <-q.upload.sent; err != nil {
			t.Fatal(err)
		}
		b := bufio.NewReader(&s.Buffer)
		got, err := nethttp.ReadRequest(b)
		if err != nil {
			t.Fatal(err)
		}
		gotBody, err := io.ReadAll(got.Body)
		if err != nil || !bytes.Equal(gotBody, body) {
			t.Fatalf("%d bytes of %d arrive: %v", len(gotBody), len(body), err)
		}
		if want := strings.Trim(value, " \t"); r.Trailers != nil && got.Trailer.Get(name) != want {
			t.Fatalf("trailer %s is %q, want %q", name, got.Trailer.Get(name), want)
		}
		if _, err := b.ReadByte(); err != io.EOF {
			t.Fatal("it is more than one request")
		}
	})
}
