package http

import (
	"bufio"
	"bytes"
	"io"
	nethttp "net/http"
	"testing"

	"github.com/gobench-io/gobench/internal/conn"
)

// FuzzResponse reads any bytes as an answer: whole, and cut in two. It must come to
// the same end both ways, never read past the answer, and what it takes for an
// answer net/http must take for the same one.
func FuzzResponse(f *testing.F) {
	for i, a := range answers {
		f.Add([]byte(a.bytes), uint16(len(a.bytes)/2), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, head bool) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		read := func(discard bool, parts ...string) (answer, int) {
			q := &call{request: Request{Method: method, Discard: discard}, maxBody: 1 << 20, keepHead: true}
			r := &replay{parts: parts, end: io.EOF}
			cn := conn.New(r)
			again, err := q.receive(cn)
			used := int(cn.In()) - len(cn.Unread())
			cn.Drop()
			for range q.response().Header.All() { // must not panic either
			}
			return answer{q.status, string(q.body), again, err}, used
		}
		whole, used := read(false, string(data))
		at := int(cut) % (len(data) + 1)
		parts, usedParts := read(false, string(data[:at]), string(data[at:]))
		if whole.err == nil && used < len(data) {
			parts.again = whole.again // whether bytes after the answer have come is chance
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
		// The oracle reads one answer, as we do, past interim ones.
		in := bytes.NewReader(data)
		b := bufio.NewReader(in)
		for {
			res, err := nethttp.ReadResponse(b, &nethttp.Request{Method: method})
			if err != nil {
				return // it is stricter in places: that it accepts less is no error of ours
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
