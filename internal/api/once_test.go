package api

import (
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// TestEditors is B25: of two who change what they have read, one has to read it again.
func TestEditors(t *testing.T) {
	r := serve(t, Options{}).people()
	tester := r.tokens[auth.Tester]
	app := decode200[run.Application](t, r.ask(tester, "POST", "/api/v1/applications", `{"name":"a","scenario":"x"}`))
	path := "/api/v1/applications/" + app.ID
	tag := r.ask(tester, "GET", path, "").Header.Get("ETag")
	if got := r.ask(tester, "PUT", path, `{"name":"b","scenario":"y"}`); got.StatusCode != 428 {
		t.Errorf("without If-Match: %d", got.StatusCode)
	}
	codes := map[int]int{}
	var mu sync.Mutex
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			got := r.ask(tester, "PUT", path, `{"name":"b","scenario":"y"}`, "If-Match", tag)
			mu.Lock()
			defer mu.Unlock()
			codes[got.StatusCode]++
		})
	}
	both.Wait()
	if codes[200] != 1 || codes[412] != 1 {
		t.Errorf("two editors: %v", codes)
	}
	if got := r.ask(tester, "PUT", path, `{"name":"c","scenario":"y"}`, "If-Match", `"7", "2"`); got.StatusCode != 200 || got.Header.Get("ETag") != `"3"` {
		t.Errorf("one of several: %d %s", got.StatusCode, got.Header.Get("ETag"))
	}
	if got := r.ask(tester, "PUT", path, `{"name":"c","scenario":"y"}`, "If-Match", `W/"3"`); got.StatusCode != 412 {
		t.Errorf("weak: %d", got.StatusCode)
	}
	if got := r.ask(tester, "DELETE", path, ""); got.StatusCode != 204 {
		t.Errorf("delete: %d", got.StatusCode)
	}
}

// TestIdempotency is B24.
func TestIdempotency(t *testing.T) {
	r := serve(t, Options{}).people()
	tester := r.tokens[auth.Tester]
	var mu sync.Mutex
	ids, replayed := map[string]int{}, 0
	var all sync.WaitGroup
	for range 8 { // a double click, and more
		all.Go(func() {
			got := r.ask(tester, "POST", "/api/v1/runs", submission("x"), "Idempotency-Key", "k1")
			o := decode200[run.Order](t, got)
			mu.Lock()
			defer mu.Unlock()
			ids[o.ID]++
			if got.Header.Get("Idempotent-Replayed") == "true" {
				replayed++
			}
			if got.StatusCode != 201 || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s", got.StatusCode, got.Header.Get("Content-Type"))
			}
		})
	}
	all.Wait()
	if len(ids) != 1 || replayed != 7 || len(r.master.submitted) != 1 {
		t.Errorf("ids %v, %d replayed, %d submitted", ids, replayed, len(r.master.submitted))
	}
	if got := r.ask(tester, "POST", "/api/v1/runs", submission("y"), "Idempotency-Key", "k1"); got.StatusCode != 409 || got.problem(t).Code != "key_reused" {
		t.Errorf("another body: %d %s", got.StatusCode, got.body)
	}
	if got := r.ask(r.tokens[auth.Operator], "POST", "/api/v1/runs", submission("y"), "Idempotency-Key", "k1"); got.StatusCode != 201 {
		t.Errorf("another user: %d %s", got.StatusCode, got.body)
	}
	if got := r.ask(tester, "POST", "/api/v1/runs", `{"name":"","source":{"scenario":"x"}}`, "Idempotency-Key", "k2"); got.StatusCode != 422 {
		t.Errorf("what is wrong: %d", got.StatusCode)
	}
	if got := r.ask(tester, "POST", "/api/v1/runs", submission("z"), "Idempotency-Key", "k2"); got.StatusCode != 201 {
		t.Errorf("mended: %d %s", got.StatusCode, got.body)
	}
	for _, key := range []string{strings.Repeat("k", 129), "a b", "\u00e9"} {
		if got := r.ask(tester, "POST", "/api/v1/runs", submission("z"), "Idempotency-Key", key); got.StatusCode != 400 {
			t.Errorf("key %.10q: %d", key, got.StatusCode)
		}
	}
	if n := len(r.api.replies.held); n != 0 {
		t.Errorf("%d locks are held", n)
	}
}
