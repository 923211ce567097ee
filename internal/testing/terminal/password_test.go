//go:build linux

package terminal

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A password is not shown. Without one, as after Ctrl-D, nothing is sent, and the terminal is as
// before.
func TestPassword(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ keys, sent, want string }{
		{"\x04", "", "gobench: no password was typed"},
		{"\x03", "", "gobench: no password was typed"},
		{"\r", "", "gobench: no password was typed"},
		{"s3cre\x7f\x7fret\r", `{"name":"ada","password":"s3cret"}`, "not a gobench master"},
	} {
		var sent atomic.Value
		sent.Store("")
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent.Store(string(body))
			w.WriteHeader(http.StatusNotFound)
		}))
		t.Cleanup(srv.Close)
		s := onScreen(t, 100, 30, nil, "gobench", "--dir", t.TempDir(), "login", srv.URL, "--name", "ada")
		s.sees("password:")
		s.types(tt.keys)
		s.sees(tt.want)
		s.exits(1)
		if got := sent.Load(); got != tt.sent || strings.Contains(s.all(), "s3cret") || s.modes() != s.before {
			t.Errorf("%q: the master was sent %q, modes %s, before %s:\n%s", tt.keys, got, s.modes(), s.before, s.all())
		}
	}
}
