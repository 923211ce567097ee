package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// TestBodiesThatAreNotJSON is B1: the answer names what is wrong and where, and nothing is
// done.
func TestBodiesThatAreNotJSON(t *testing.T) {
	r := serve(t, Options{}).people()
	rest := `"source":{"scenario":"x"}`
	for _, tt := range []struct{ name, body, code, pointer string }{
		{"blank", " ", "malformed", ""},
		{"not JSON", "name=x", "malformed", ""},
		{"cut", `{"name":"x"`, "malformed", ""},
		{"an array", `[]`, "malformed", ""},
		{"null", `null`, "malformed", ""},
		{"a number", `1`, "malformed", ""},
		{"wrong type", `{"name":7,` + rest + `}`, "malformed", "/name"},
		{"wrong type deep", `{"name":"x",` + rest + `,"options":{"guards":{"max_rate":"7"}}}`, "malformed", "/options/guards/max_rate"},
		{"trailing data", `{"name":"x",` + rest + `}{}`, "malformed", ""},
		{"trailing text", `{"name":"x",` + rest + `} x`, "malformed", ""},
		{"a key twice", `{"name":"x","name":"y",` + rest + `}`, "malformed", "/name"},
		{"a key twice, escaped", `{"name":"x","n\u0061me":"y",` + rest + `}`, "malformed", "/name"},
		{"a key twice, deep", `{"name":"x",` + rest + `,"options":{"weights":{"a":1,"a":2}}}`, "malformed", "/options/weights/a"},
		{"a key twice, in a list", `{"name":"x","source":{"scenario":"x","files":[{"path":"a","data":""},{"path":"b","path":"c","data":""}]}}`, "malformed", "/source/files/1/path"},
		{"unknown field", `{"name":"x",` + rest + `,"nmae":1}`, "unknown_field", "/nmae"},
		{"unknown field deep", `{"name":"x",` + rest + `,"options":{"guard":{}}}`, "unknown_field", "/options/guard"},
		{"another case", `{"Name":"x",` + rest + `}`, "unknown_field", "/Name"},
		{"depth 10 000", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "malformed", "/0/0/0/..."},
		{"depth 40 of a field", `{"name":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "malformed", "/name/0/0/..."},
		{"depth 40 of objects", strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "malformed", "/a/a/a/..."},
		{"NaN", `{"name":"x",` + rest + `,"options":{"duration_seconds":NaN}}`, "malformed", ""},
		{"Infinity", `{"name":"x",` + rest + `,"options":{"duration_seconds":Infinity}}`, "malformed", ""},
		{"1e400", `{"name":"x",` + rest + `,"options":{"duration_seconds":1e400}}`, "malformed", "/options/duration_seconds"},
		{"2^63 where 2^63-1 is the most", `{"name":"x",` + rest + `,"options":{"weights":{"a":9223372036854775808}}}`, "malformed", ""},
		{"2^64 where 2^64-1 is the most", `{"name":"x",` + rest + `,"options":{"seed":18446744073709551616}}`, "malformed", ""},
		{"half where whole numbers are", `{"name":"x",` + rest + `,"options":{"weights":{"a":1.5}}}`, "malformed", "/options/weights/a"},
		{"not UTF-8", "{\"name\":\"\xff\"," + rest + "}", "malformed", ""},
		{"a byte order mark", "\ufeff{\"name\":\"x\"," + rest + "}", "malformed", ""},
		{"UTF-16", "{\x00}\x00", "malformed", ""},
		{"comments", `{"name":"x",/* */` + rest + `}`, "malformed", ""},
		{"no base64", `{"name":"x","source":{"scenario":"x","files":[{"path":"a","data":"*"}]}}`, "malformed", ""},
	} {
		got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", tt.body)
		if got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", tt.name, got.StatusCode, got.body)
			continue
		}
		p := got.problem(t)
		if p.Code != tt.code || len(p.Errors) == 0 || p.Errors[0].Pointer != tt.pointer || p.Errors[0].Detail == "" {
			t.Errorf("%s: %s", tt.name, got.body)
		}
	}
	if empty := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", "", "Content-Type", "application/json"); empty.StatusCode != http.StatusBadRequest || empty.problem(t).Code != "malformed" {
		t.Errorf("empty: %d %s", empty.StatusCode, empty.body)
	}
	if len(r.master.submitted) != 0 {
		t.Errorf("submitted %d", len(r.master.submitted))
	}
	big := `{"name":"x",` + rest + `,"options":{"seed":18446744073709551615,"parameters":{"a":"1","A":"2"}}}`
	if o := decode200[run.Order](t, r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", big)); o.Options.Seed != 1<<64-1 || len(o.Options.Parameters) != 2 {
		t.Errorf("options %+v", o.Options)
	}
}

// TestContentTypes is B2 and B4.
func TestContentTypes(t *testing.T) {
	r := serve(t, Options{}).people()
	for _, tt := range []struct {
		name, value, encoding string
		want                  int
	}{
		{"JSON", "application/json", "", 201},
		{"with its charset", "application/json; charset=UTF-8", "", 201},
		{"identity", "application/json", "identity", 201},
		{"none", "", "", 415},
		{"plain", "text/plain", "", 415},
		{"a form", "application/x-www-form-urlencoded", "", 415},
		{"of parts", "multipart/form-data; boundary=x", "", 415},
		{"patch", "application/merge-patch+json", "", 415},
		{"another charset", "application/json; charset=utf-16", "", 415},
		{"another parameter", "application/json; v=1", "", 415},
		{"nonsense", "application/json;;;=", "", 415},
		{"gzip", "application/json", "gzip", 415},
		{"gzip twice", "application/json", "gzip, gzip", 415},
		{"brotli", "application/json", "br", 415},
	} {
		got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", submission("x"), "Content-Type", tt.value, "Content-Encoding", tt.encoding)
		if got.StatusCode != tt.want {
			t.Errorf("%s: %d %s", tt.name, got.StatusCode, got.body)
		}
		if tt.want == 415 && got.problem(t).Code != "unsupported_media" {
			t.Errorf("%s: %s", tt.name, got.body)
		}
	}
	if n := len(r.master.submitted); n != 3 {
		t.Errorf("%d submitted", n)
	}
}

// endless is a body without end or length.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestBodiesTooBig is B3: with and without a length, and without memory for them.
func TestBodiesTooBig(t *testing.T) {
	r := serve(t, Options{}).people()
	for _, tt := range []struct {
		method, path string
		limit        int64
	}{
		{"POST", "/api/v1/login", smallBody},
		{"POST", "/api/v1/runs", sourceBody},
		{"POST", "/api/v1/applications", sourceBody},
		{"POST", "/api/v1/stop-all", smallBody},
		{"POST", "/api/v1/runs/20060102-150405-aaaaaa/cancel", emptyBody},
		{"GET", "/api/v1/runs", emptyBody},
	} {
		if tt.limit == sourceBody && tt.path != "/api/v1/runs" && !long.Run {
			continue // 14 MB, as those of runs
		}
		exact := strings.Repeat(" ", int(tt.limit)+1)
		got := r.ask(r.tokens[auth.Admin], tt.method, tt.path, exact)
		if got.StatusCode != http.StatusRequestEntityTooLarge || got.problem(t).Code != "too_large" || !got.Close {
			t.Errorf("%s %s of %d bytes: %d %s, close %v", tt.method, tt.path, len(exact), got.StatusCode, got.body, got.Close)
		}
		if got := r.ask(r.tokens[auth.Admin], tt.method, tt.path, exact[1:]); got.StatusCode == http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s at its limit: %d %s", tt.method, tt.path, got.StatusCode, got.body)
		}
		before := r.taken.Load()
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, r.url+tt.path, endless{})
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+r.tokens[auth.Admin])
		answer, err := r.http.Do(req)
		if err != nil { // the server has closed before the client had read
			t.Logf("%s: %v", tt.path, err)
		} else {
			if answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s %s without end: %d", tt.method, tt.path, answer.StatusCode)
			}
			answer.Body.Close()
		}
		// What the client sent would say less, because the kernel buffers megabytes.
		if taken := r.taken.Load() - before; taken > tt.limit+(1<<20) {
			t.Errorf("%s took %d bytes", tt.path, taken)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d bytes are held", m.HeapAlloc)
	}
	// What is refused before its body is looked at is not read.
	req, _ := http.NewRequestWithContext(t.Context(), "POST", r.url+"/api/v1/runs", io.LimitReader(endless{}, 1<<30))
	if answer, err := r.http.Do(req); err == nil {
		if answer.Body.Close(); answer.StatusCode != http.StatusUnauthorized || !answer.Close {
			t.Errorf("nobody's: %d, close %v", answer.StatusCode, answer.Close)
		}
	}
}

// TestPartsTooBig holds the limits of what a source is made of, and that all of them
// together fit.
func TestPartsTooBig(t *testing.T) {
	limits := defaultLimits
	if !long.Run {
		limits = sourceLimits{scenario: 8 << 10, goMod: 1 << 10, goSum: 16 << 10, files: 128 << 10}
	}
	r := serve(t, Options{limits: limits}).people()
	x := func(n int) string { return strings.Repeat("x", n) }
	file := func(path string, n int) run.File { return run.File{Path: path, Data: []byte(x(n))} }
	most := func(l sourceLimits) run.Source {
		return run.Source{Scenario: x(l.scenario), GoMod: x(l.goMod), GoSum: x(l.goSum), Files: []run.File{file("a", l.files)}}
	}
	b, err := json.Marshal(types.Submission{Name: "x", Source: new(most(defaultLimits))})
	if err != nil || len(b) > sourceBody {
		t.Errorf("a source at its limits takes %d bytes of %d, %v", len(b), int64(sourceBody), err)
	}
	var many []run.File
	for i := range maxFileCount + 1 {
		many = append(many, file(fmt.Sprint("f", i), 0))
	}
	for _, tt := range []struct {
		name    string
		source  run.Source
		status  int
		pointer string
	}{
		{"all at their limits", most(limits), 201, ""},
		{"scenario", run.Source{Scenario: x(limits.scenario + 1)}, 413, "/source/scenario"},
		{"go.mod", run.Source{Scenario: "x", GoMod: x(limits.goMod + 1)}, 413, "/source/go_mod"},
		{"go.sum", run.Source{Scenario: "x", GoSum: x(limits.goSum + 1)}, 413, "/source/go_sum"},
		{"files", run.Source{Scenario: "x", Files: []run.File{file("a", limits.files), file("b", 1)}}, 413, "/source/files"},
		{"many files", run.Source{Scenario: "x", Files: many}, 413, "/source/files"},
		{"no scenario", run.Source{Scenario: " \n"}, 422, "/source/scenario"},
	} {
		b, _ := json.Marshal(types.Submission{Name: "x", Source: &tt.source})
		got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", string(b))
		if got.StatusCode != tt.status {
			t.Errorf("%s: %d %.300s", tt.name, got.StatusCode, got.body)
		} else if tt.status > 300 && got.problem(t).Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: %s", tt.name, got.body)
		}
	}
}

// TestNames is B6: a name is refused with its place, or stored and returned unchanged.
func TestNames(t *testing.T) {
	r := serve(t, Options{}).people()
	submit := func(name string, tags []string) reply {
		b, _ := json.Marshal(types.Submission{Name: name, Tags: tags, Source: &run.Source{Scenario: "x"}})
		return r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", string(b))
	}
	for _, name := range []string{"home", "\U0001f600", "\U0001f468\u200d\U0001f469", "../..", "CON", "<script>alert(1)</script>", "-rf", "'; drop table runs; --", "%", "_", "=1+1", "\u00e9t\u00e9", strings.Repeat("n", maxLabel)} {
		o := decode200[run.Order](t, submit(name, []string{name}))
		if o.Name != name {
			t.Errorf("%q became %q", name, o.Name)
		}
	}
	if o := decode200[run.Order](t, submit("e\u0301", nil)); o.Name != "\u00e9" {
		t.Errorf("what looks the same is %q", o.Name)
	}
	for _, name := range []string{"", strings.Repeat("n", maxLabel+1), strings.Repeat("n", 10<<10), "a\x00b", "a\nb", "a\tb", "ab\u202ecd", "\u2066a", " a", "a ", "a\u2028b", "\ue000", "\ufeffa", "a\x1b[31m"} {
		for _, got := range []reply{submit(name, nil), submit("ok", []string{name})} {
			if p := got.problem(t); got.StatusCode != http.StatusUnprocessableEntity || p.Code != "invalid" || !strings.HasPrefix(p.Errors[0].Pointer, "/name") && !strings.HasPrefix(p.Errors[0].Pointer, "/tags/0") {
				t.Errorf("%.20q: %d %s", name, got.StatusCode, got.body)
			}
		}
	}
	for _, path := range []string{"", "..", "../x", "/etc/passwd", "a/../../b", "./a", "a//b", "a/", "a\\b", "C:x", "a\x00", "a\nb", "-x", "a/-x", "a.", "a /b", strings.Repeat("p", 257), ".."} {
		b, _ := json.Marshal(types.NewApplication{Name: "x", Scenario: "x", Files: []run.File{{Path: path}}})
		got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/applications", string(b))
		if p := got.problem(t); got.StatusCode != http.StatusUnprocessableEntity || p.Errors[0].Pointer != "/files/0/path" {
			t.Errorf("%q: %d %s", path, got.StatusCode, got.body)
		}
	}
	for _, file := range []string{"a/b.go", "../x.go", "x", "x.txt", "x_test.go", "_x.go", ".x.go", "-x.go", "x\n.go", strings.Repeat("p", 257) + ".go"} {
		b, _ := json.Marshal(types.Submission{Name: "x", Source: &run.Source{Scenario: "x", File: file}})
		got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", string(b))
		if p := got.problem(t); got.StatusCode != http.StatusUnprocessableEntity || p.Errors[0].Pointer != "/source/file" {
			t.Errorf("%q: %d %s", file, got.StatusCode, got.body)
		}
	}
	same, _ := json.Marshal(types.Submission{Name: "x", Source: &run.Source{Scenario: "x", File: "shop.go", Files: []run.File{{Path: "Shop.go"}}}})
	if got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", string(same)); got.StatusCode != http.StatusUnprocessableEntity || got.problem(t).Errors[0].Pointer != "/source/files/0/path" {
		t.Errorf("a file with the scenario's name: %d %s", got.StatusCode, got.body)
	}
	b, _ := json.Marshal(types.NewApplication{Name: "x", Scenario: "x", Files: []run.File{{Path: "a/B.csv"}, {Path: "a/b.csv"}}})
	if got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/applications", string(b)); got.StatusCode != http.StatusUnprocessableEntity || got.problem(t).Errors[0].Pointer != "/files/1/path" {
		t.Errorf("names that clash: %d %s", got.StatusCode, got.body)
	}
}

// TestIDs is B7, and the paths of B20.
func TestIDs(t *testing.T) {
	r := serve(t, Options{}).people()
	same := r.ask(r.tokens[auth.Admin], "GET", "/api/v1/runs/20060102-150405-aaaaaa", "").problem(t)
	for _, id := range []string{"abc", "-1", "0", "18446744073709551616", "1%00", "1%2F..%2F2", "%2e%2e", "..%2f..%2fetc%2fpasswd", "20060102-150405-AAAAAA", "20060102-150405-aaaaaa%20", "'%3B%20drop%20table", strings.Repeat("1", 5000)} {
		for _, path := range []string{"/api/v1/runs/", "/api/v1/users/", "/api/v1/applications/"} {
			got := r.ask(r.tokens[auth.Admin], "GET", path+id, "")
			if p := got.problem(t); got.StatusCode != http.StatusNotFound || p.Detail != same.Detail || p.Code != "not_found" {
				t.Errorf("%s%.40s: %d %s", path, id, got.StatusCode, got.body)
			}
		}
	}
	for _, path := range []string{"/api/v1/../../etc/passwd", "/api/v1//runs", "//api/v1/runs", "/api/v1/runs/./x", "/api/v1/%2e%2e/%2e%2e/etc/passwd", "/api/v2/runs", "/api/v1", "/api/", "/api/v1/runs/", "/etc/passwd", "/\\", "/.git/config"} {
		if got := r.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 404 ") {
			t.Errorf("%s: %.200s", path, got)
		}
	}
}

// TestMethods is the rest of B20.
func TestMethods(t *testing.T) {
	r := serve(t, Options{}).people()
	for _, tt := range []struct{ method, path, allow string }{
		{"DELETE", "/api/v1/runs", "GET, HEAD, POST"},
		{"TRACE", "/api/v1/runs", "GET, HEAD, POST"},
		{"PUT", "/api/v1/runs/20060102-150405-aaaaaa", "DELETE, GET, HEAD"},
		{"GET", "/api/v1/login", "POST"},
		{"GET", "/api/v1/runs/20060102-150405-aaaaaa/cancel", "POST"},
		{"BREW", "/api/v1/agents", "GET, HEAD"},
		{"OPTIONS", "/api/v1/runs", "GET, HEAD, POST"},
		{"POST", "/", "GET, HEAD"},
		{"TRACE", "/", "GET, HEAD"},
		{"POST", "/healthz", "GET, HEAD"},
	} {
		got := r.ask(r.tokens[auth.Admin], tt.method, tt.path, "")
		if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d, allow %q", tt.method, tt.path, got.StatusCode, got.Header.Get("Allow"))
		}
	}
	if got := r.ask(r.tokens[auth.Admin], "HEAD", "/api/v1/runs", ""); got.StatusCode != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %d %q", got.StatusCode, got.body)
	}
	id := r.queued() // X-HTTP-Method-Override is of B18
	r.ask(r.tokens[auth.Admin], "GET", "/api/v1/runs/"+id, "", "X-HTTP-Method-Override", "DELETE", "X-Method-Override", "DELETE")
	if got := r.ask(r.tokens[auth.Admin], "GET", "/api/v1/runs/"+id, ""); got.StatusCode != http.StatusOK {
		t.Errorf("it was deleted: %d", got.StatusCode)
	}
}
