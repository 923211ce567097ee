package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// TestParameters is B10: limits and orders that are not there are refused, and text is
// only text.
func TestParameters(t *testing.T) {
	r := serve(t, Options{}).people()
	id := r.queued()
	for _, tt := range []struct{ path, pointer string }{
		{"/api/v1/runs?limit=-5", "?limit"},
		{"/api/v1/runs?limit=0", "?limit"},
		{"/api/v1/runs?limit=201", "?limit"},
		{"/api/v1/runs?limit=1e9", "?limit"},
		{"/api/v1/runs?limit=9223372036854775808", "?limit"},
		{"/api/v1/runs?offset=1e18", "?offset"},
		{"/api/v1/runs?sort=id+desc--", "?sort"},
		{"/api/v1/runs?order=1", "?order"},
		{"/api/v1/runs?state=gone", "?state"},
		{"/api/v1/runs?after=%27%3B+drop", "?after"},
		{"/api/v1/runs?after=" + strings.Repeat("1", 300), "?after"},
		{"/api/v1/runs?text=" + strings.Repeat("x", 600), "?text"},
		{"/api/v1/audit?before=-1", "?before"},
		{"/api/v1/runs/" + id + "/series?from=-1", "?from"},
		{"/api/v1/runs/" + id + "/series?to=NaN", "?to"},
		{"/api/v1/runs/" + id + "/series?points=1000000", "?points"},
		{"/api/v1/runs/" + id + "/log?offset=-1", "?offset"},
		{"/api/v1/runs/" + id + "/log?follow=maybe", "?follow"},
		{"/api/v1/runs/" + id + "/report?format=exe", "?format"},
		{"/api/v1/events?after=-1", "?after"},
		{"/api/v1/events?token=" + r.tokens[auth.Admin], "?token"},
	} {
		got := r.ask(r.tokens[auth.Admin], "GET", tt.path, "")
		if p := got.problem(t); got.StatusCode != http.StatusBadRequest || p.Code != "bad_parameter" || len(p.Errors) != 1 || p.Errors[0].Pointer != tt.pointer {
			t.Errorf("%.60s: %d %s", tt.path, got.StatusCode, got.body)
		}
	}
	for _, text := range []string{"%", "_", "'; drop table runs; --", "\\"} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", r.url+"/api/v1/runs", nil)
		q := req.URL.Query()
		q.Set("text", text)
		req.URL.RawQuery = q.Encode()
		req.Header.Set("Authorization", "Bearer "+r.tokens[auth.Viewer])
		if page := decode200[types.Page[run.Order]](t, r.do(req)); len(page.Items) != 0 {
			t.Errorf("%q finds %d", text, len(page.Items))
		}
	}
}

// TestPages walks all pages.
func TestPages(t *testing.T) {
	r := serve(t, Options{}).people()
	var want []string
	for range 7 {
		want = append(want, r.queued())
	}
	var got []string
	for after, pages := "", 0; ; pages++ {
		page := decode200[types.Page[run.Order]](t, r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs?limit=3&after="+after, ""))
		for _, o := range page.Items {
			got = append(got, o.ID)
		}
		if after = page.Next; after == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
	}
	if len(got) != len(want) || got[0] != want[6] || got[6] != want[0] {
		t.Errorf("got %v of %v", got, want)
	}
	if none := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs?state=failed", ""); !strings.Contains(none.body, `"items":[]`) {
		t.Errorf("none: %s", none.body)
	}
}

// TestErrorsOfTheMaster holds the table of errors, and that nothing else gets out.
func TestErrorsOfTheMaster(t *testing.T) {
	r := serve(t, Options{}).people()
	r.master.broken = fmt.Errorf("SELECT secret FROM /var/lib/x: %w", io.ErrUnexpectedEOF)
	got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs", "")
	p := got.problem(t)
	if got.StatusCode != http.StatusInternalServerError || p.Code != "internal" || strings.Contains(got.body, "SELECT") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if !strings.Contains(r.log.String(), p.Request) || !strings.Contains(r.log.String(), "SELECT secret") {
		t.Errorf("the log does not say it: %s", r.log)
	}
	body := `{"name":"x","source":{"scenario":"x"},"options":{"guards":{"error_rate":2}}}`
	got = r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", body)
	if p := got.problem(t); got.StatusCode != http.StatusUnprocessableEntity || p.Errors[0].Pointer != "/options/guards/error_rate" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	id := r.queued()
	if got := r.ask(r.tokens[auth.Tester], "DELETE", "/api/v1/runs/"+id, ""); got.StatusCode != http.StatusConflict || !strings.Contains(got.problem(t).Detail, "queued") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	r.store.mu.Lock()
	r.store.broken = io.ErrClosedPipe
	r.store.mu.Unlock()
	if got := r.ask(r.tokens[auth.Tester], "GET", "/api/v1/me", ""); got.StatusCode != http.StatusInternalServerError || strings.Contains(got.body, "pipe") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	r.store.mu.Lock()
	r.store.broken = nil
	r.store.mu.Unlock()
}

// FuzzCheckJSON holds that what checkJSON lets through is JSON that both readers of it
// understand the same way.
func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"b":null}]}`, `[[],{},"",1e5]`, `{"a":1,"a":2}`, `{"a":{"a":1}}`, `nul`, `"`, `[1,2`, `{"a":1e999}`, "{\"\xff\":1}", `1 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if checkJSON(b) != nil {
			return
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if p := checkJSON(again); p != nil {
			t.Fatalf("%q became %q: %v", b, again, p.Errors)
		}
	})
}
