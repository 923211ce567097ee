package http

import (
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// statuses returns the counts by status.
func statuses(rec *executortest.Recorder) string {
	return strings.TrimPrefix(fmt.Sprint(rec.Counts("home.status.")), "map")
}

// Answers are counted by class and by code; codes beyond the limit, by class only.
func TestStatuses(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, func(p *servers.Peer) {
		for {
			var status int
			if n, _ := fmt.Sscanf(p.Request(), "GET /%d", &status); n == 0 {
				return
			}
			p.Send(fmt.Sprintf("HTTP/1.1 %03d x\r\nContent-Length: 0\r\n\r\n", status))
		}
	})
	ctx, c, rec := newClient(t)
	for _, status := range []int{200, 200, 204, 301, 404, 404, 404, 503, 600, 999} {
		if err := c.GetIgnoreRes(ctx, fmt.Sprintf("%s/%d", s.URL, status), nil); err != nil {
			t.Fatal(err)
		}
	}
	want := "[200:2 204:1 2xx:3 301:1 3xx:1 404:3 4xx:3 503:1 5xx:1 other:2]"
	if got := statuses(rec); got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
	ctx, c, rec = newClient(t)
	for range 2 {
		for i := range maxCodes + 10 {
			if err := c.GetIgnoreRes(ctx, fmt.Sprintf("%s/%d", s.URL, 400+i), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := rec.Counts("home.status.")
	if len(got) != maxCodes+1 || got["4xx"] != 2*(maxCodes+10) || got["439"] != 2 || got["440"] != 0 {
		t.Errorf("counted %d titles, 4xx %d: %v", len(got), got["4xx"], got)
	}
}

// A run that can't declare more metrics counts by class only.
func TestStatusesWithoutRoom(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.NotFoundHandler())
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t)
	fill(t, c)
	for range 3 {
		if err := c.GetIgnoreRes(ctx, srv.URL, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := statuses(rec); got != "[4xx:3]" {
		t.Errorf("counted %s", got)
	}
	_, err := c.Do(ctx, Request{URL: srv.URL, Name: "late"})
	if err == nil || !strings.Contains(err.Error(), `name "late": metric "home.url.late.http_ok" is one too many`) {
		t.Errorf("a name without room: %v", err)
	}
}

// fill declares metrics up to the run's limit.
func fill(t *testing.T, c HttpClient) {
	t.Helper()
	for i := range 10000 {
		title := "filler." + strconv.Itoa(i)
		if c.c.recorder.Setup([]metrics.Group{{Name: "Filler", Graphs: []metrics.Graph{{Title: title, Unit: "N",
			Metrics: []metrics.Metric{{Title: title, Type: metrics.Counter}}}}}}) != nil {
			return
		}
	}
	t.Fatal("a run takes any number of metrics")
}

// Named requests are also counted under their name; names beyond the limit count as "other".
func TestNames(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/fail" {
			w.WriteHeader(500)
		}
	}))
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t)
	do := func(name, url string) {
		if _, err := c.Do(ctx, Request{URL: url, Name: name}); err != nil && !strings.HasPrefix(url, "http://127.0.0.1:1/") {
			t.Error(err)
		}
	}
	do("item", srv.URL+"/a")
	do("item", srv.URL+"/b")
	do("item", srv.URL+"/fail")
	do("item", "http://127.0.0.1:1/")
	do("list /x {id}", srv.URL+"/list")
	do("", srv.URL+"/none")
	want := "map[item.http_fail:1 item.http_ok:2 item.http_other_fail:1 item.latency:3 list /x {id}.http_ok:1 list /x {id}.latency:1]"
	if got := fmt.Sprint(rec.Counts("home.url.")); got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
	wantOK := int64(4)
	for i := range maxNames + 5 {
		for range 2 {
			do(fmt.Sprint("id", i), srv.URL)
			wantOK++
		}
	}
	got := rec.Counts("home.")
	if got["url.id47.http_ok"] != 2 || got["url.id48.http_ok"] != 0 || got["url.other.http_ok"] != 14 || got["http_ok"] != wantOK {
		t.Errorf("counted id47 %d, id48 %d, other %d, all %d", got["url.id47.http_ok"], got["url.id48.http_ok"], got["url.other.http_ok"], got["http_ok"])
	}
	// A second client of the prefix uses the same names.
	second, err := NewHttpClient(ctx, "home")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Do(ctx, Request{URL: srv.URL, Name: "item"}); err != nil {
		t.Fatal(err)
	}
	if n := rec.Counts("home.")["url.item.http_ok"]; n != 3 {
		t.Errorf("item: %d, want 3", n)
	}
	for _, name := range []string{"a\nb", strings.Repeat("x", 200)} {
		_, c, rec := newClient(t)
		if _, err := c.Do(ctx, Request{URL: srv.URL, Name: name}); err == nil || !strings.Contains(err.Error(), "name "+strconv.Quote(name)) {
			t.Errorf("name %q: %v", name, err)
		}
		if n := len(rec.Counts("home.")); n != 0 {
			t.Errorf("a wrong name counted %d", n)
		}
	}
}

// The time to the first byte is from the call to the beginning of the answer, after any interim
// answers. If everything arrives at once it equals the latency.
func TestTimeToFirstByte(t *testing.T) {
	t.Parallel()
	const pause = 30 * time.Millisecond
	slow := func(parts ...string) func(p *servers.Peer) {
		return func(p *servers.Peer) {
			p.Request()
			for _, part := range parts {
				time.Sleep(pause)
				p.Send(part)
			}
			p.Hold()
		}
	}
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		first  time.Duration // at least; the rest arrives one or more pauses later
		rest   time.Duration
	}{
		{"at once", slow(ok), pause, 0},
		{"body later", slow(ok[:len(ok)-2], "ok"), pause, pause},
		{"within the head", slow(ok[:10], ok[10:]), pause, pause},
		{"within the body", slow(ok[:len(ok)-1], "k"), pause, pause},
		{"chunks", slow("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\no", "k\r\n", "0\r\n\r\n"), pause, 2 * pause},
		{"interim answer before", slow("HTTP/1.1 103 Early Hints\r\n\r\n", ok), 2 * pause, 0},
		{"interim answer along", slow("HTTP/1.1 103 Early Hints\r\n\r\n"+ok[:9], ok[9:]), pause, pause},
		{"until close", func(p *servers.Peer) {
			p.Request()
			time.Sleep(pause)
			p.Send("HTTP/1.1 200 OK\r\n\r\no")
			time.Sleep(pause)
			p.Send("k")
		}, pause, pause},
	} {
		for _, discard := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, discarded %v", tt.name, discard), func(t *testing.T) {
				t.Parallel()
				s := servers.Faults(t, tt.script)
				// On a busy host the client may be so late that it reads all parts at once.
				for end := time.Now().Add(30 * time.Second); ; {
					ctx, c, rec := newClient(t)
					r, err := c.Do(ctx, Request{URL: s.URL, Discard: discard})
					if err != nil {
						t.Fatal(err)
					}
					if r.FirstByte < tt.first || tt.rest == 0 && r.Latency != r.FirstByte {
						t.Fatalf("first byte %v, last %v; want at least %v, then %v", r.FirstByte, r.Latency, tt.first, tt.rest)
					}
					if got := time.Duration(rec.Quantile("home.ttfb", 0.5)); got < r.FirstByte*99/100 || got > r.FirstByte*101/100 {
						t.Fatalf("recorded %v, want %v", got, r.FirstByte)
					}
					if r.Latency >= r.FirstByte+tt.rest/2 {
						return
					}
					if time.Now().After(end) {
						t.Fatalf("first byte %v, last %v; want %v, then %v", r.FirstByte, r.Latency, tt.first, tt.rest)
					}
				}
			})
		}
	}
}

// connections_reused counts the answers over a connection that had served before.
func TestReused(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	ctx, c, rec := newClient(t)
	for range 5 {
		if err := c.GetIgnoreRes(ctx, ng.URL, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.GetIgnoreRes(ctx, ng.URL+"/close/index.html", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.GetIgnoreRes(ctx, ng.URL, nil); err != nil {
		t.Fatal(err)
	}
	if got := rec.Counts("home."); got["connections_reused"] != 5 || got["connections_opened"] != 2 {
		t.Errorf("%d reused, %d opened; want 5, 2", got["connections_reused"], got["connections_opened"])
	}
}

// Trailers of answers can be read, and interim answers are limited.
func TestTrailersAndInterim(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Trailer", "X-Sum, X-Other")
		w.Header().Set("X-Head", "1")
		w.Write([]byte("hello"))
		w.Header().Set("X-Sum", "abc")
		w.Header().Set("X-Other", "")
	}))
	t.Cleanup(srv.Close)
	ctx, c, _ := newClient(t)
	for _, discard := range []bool{false, true} {
		r, err := c.Do(ctx, Request{URL: srv.URL, Discard: discard})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool][2]string{false: {"abc", "1"}, true: {"", ""}}[discard]
		if r.Trailers.Get("x-sum") != want[0] || r.Header.Get("X-Head") != want[1] || r.Header.Get("X-Sum") != "" || r.Trailers.Get("X-Head") != "" {
			t.Errorf("discard %v: trailer %q, header %q", discard, r.Trailers.Get("x-sum"), r.Header.Get("X-Head"))
		}
	}
	hint := "HTTP/1.1 103 Early Hints\r\nLink: " + strings.Repeat("x", 1000) + "\r\n\r\n"
	if got := get(strings.Repeat(hint, 60) + ok); got.err != nil || got.body != "ok" {
		t.Errorf("60 KB of hints: %+v", got)
	}
	if got := get(strings.Repeat(hint, 70) + ok); !errors.Is(got.err, errInterim) {
		t.Errorf("70 KB of hints: %+v", got)
	}
}
