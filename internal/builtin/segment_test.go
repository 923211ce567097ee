package builtin

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/runner"
	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// Three executors send what one would: the same number of requests, each with its own number
// and row, by the same number of users and connections.
func TestExecutorsShareRequests(t *testing.T) {
	t.Parallel()
	const requests, connections, streams = 3000, 8, 5
	var mu sync.Mutex
	seqs, rows, users, opened := map[int64]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seq, err := strconv.ParseInt(r.FormValue("seq"), 10, 64)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || !strings.HasPrefix(r.URL.Path, "/1") && !strings.HasPrefix(r.URL.Path, "/2") {
			t.Errorf("%s: %v", r.URL, err)
		}
		seqs[seq]++
		rows[r.FormValue("row")]++
		users[r.FormValue("vu")]++
		opened[r.RemoteAddr]++
	}))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Start()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "rows.csv")
	var text strings.Builder
	text.WriteString("n\n")
	for i := range requests {
		text.WriteString(strconv.Itoa(i) + "\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	query := "?seq={{seq}}&vu={{vu}}&row={{data.n}}"
	o := HTTP{
		Targets:     []Target{{Method: "GET", URL: srv.URL + "/1" + query}, {Method: "GET", URL: srv.URL + "/2" + query}},
		Connections: connections, Requests: requests, Data: &Data{File: file}, Client: Client{HTTP2: true, Streams: streams},
	}
	vus, err := o.Vus()
	if err != nil {
		t.Fatal(err)
	}
	classes, err := runner.Check(vus)
	if err != nil {
		t.Fatal(err)
	}
	p, err := split.New(&wire.Hello{Classes: classes}, []split.Place{{Weight: 2}, {Weight: 1}, {Weight: 1}}, &wire.Start{GracefulNs: int64(10 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, s := range p.Starts() {
		vus, err := o.Vus() // each process has its own scenario
		if err != nil {
			t.Fatal(err)
		}
		r, err := runner.New(vus, classes, s, meter.New())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { r.Run(t.Context(), func(time.Duration) {}) })
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(seqs) != requests || len(rows) != requests || len(users) > connections*streams {
		t.Errorf("%d numbers, %d rows, %d users; want %d requests, of at most %d users", len(seqs), len(rows), len(users), requests, connections*streams)
	}
	// A connection with users on two executors counts as two: at most one more per executor.
	hosts := map[string]bool{}
	for address := range opened {
		if _, _, err := net.SplitHostPort(address); err != nil {
			t.Error(err)
		}
		hosts[address] = true
	}
	if len(hosts) > connections+2 {
		t.Errorf("%d connections, want %d and at most one more for each further executor", len(hosts), connections)
	}
}
