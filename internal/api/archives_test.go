package api

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// TestArchives exports and imports a run, and holds that other bodies are refused.
func TestArchives(t *testing.T) {
	r := serve(t, Options{}).people()
	id := r.queued()
	got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs/"+id+"/export", "")
	if got.StatusCode != http.StatusOK || got.body != "archive of "+id || got.Header.Get("Content-Type") != archiveType ||
		got.Header.Get("Content-Disposition") != "attachment; filename="+id+".tar.zst" {
		t.Errorf("export: %d %v %q", got.StatusCode, got.Header, got.body)
	}
	if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs/20260102-150405-aaaaaa/export", ""); got.StatusCode != http.StatusNotFound {
		t.Errorf("export of no run: %d %s", got.StatusCode, got.body)
	}
	const other = "20260102-150405-bbbbbb"
	send := func(body io.Reader, media string) reply {
		req, err := http.NewRequest("POST", r.url+"/api/v1/runs/import", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.tokens[auth.Tester])
		if media != "" {
			req.Header.Set("Content-Type", media)
		}
		return r.do(req)
	}
	// A body in chunks, without a length.
	made := send(iotest.OneByteReader(strings.NewReader("archive of "+other)), archiveType)
	if o := decode200[run.Order](t, made); made.StatusCode != http.StatusCreated || o.ID != other || o.Owner != "tester" {
		t.Errorf("import: %d %s", made.StatusCode, made.body)
	}
	for _, tt := range []struct {
		name, body, media string
		status            int
		code              string
	}{
		{"twice", "archive of " + other, archiveType, http.StatusConflict, "conflict"},
		{"no archive", "hello", archiveType, http.StatusUnprocessableEntity, "bad_archive"},
		{"JSON", "{}", "application/json", http.StatusUnsupportedMediaType, "unsupported_media"},
		{"without a type", "archive of x", "", http.StatusUnsupportedMediaType, "unsupported_media"},
	} {
		got := send(strings.NewReader(tt.body), tt.media)
		if p := got.problem(t); got.StatusCode != tt.status || p.Code != tt.code {
			t.Errorf("%s: %d %+v, want %d %s", tt.name, got.StatusCode, p, tt.status, tt.code)
		}
	}
	if e := r.store.audited("run.import"); len(e) == 0 || e[0].Object != other {
		t.Errorf("written down is %+v", e)
	}
	head := "POST /api/v1/runs/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + archiveType + "\r\nAuthorization: Bearer " + r.tokens[auth.Tester] + "\r\n"
	if got := r.raw(head + "Content-Length: 999999999999\r\n\r\n"); !strings.Contains(got, " 413 ") {
		t.Errorf("too large: %q", got)
	}
}
