package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// A run that was read from a master leaves no connection open, nor does one that is not there.
func TestStoredIsClosed(t *testing.T) {
	servers.NoLeaks(t)
	var made, open atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/result"):
			_, _ = io.WriteString(w, `{"format":"gobench.result/2","id":"20260102-150405-a1b2c3","state":"finished"}`)
		case strings.HasSuffix(r.URL.Path, "/series"):
			_, _ = io.WriteString(w, `{"run":"20260102-150405-a1b2c3","intervals":[{"from_seconds":0}]}`)
		default:
			_, _ = io.WriteString(w, `{"items":[]}`)
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			made.Add(1)
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	a := &app{dir: t.TempDir(), stdout: io.Discard, stderr: io.Discard}
	at := masterFlags{url: srv.URL}
	s, err := a.storedAt(t.Context(), at, "20260102-150405-a1b2c3")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := s.series(func(run.Interval) error { n++; return nil }); err != nil || n != 1 || s.State != run.Finished {
		t.Errorf("%d intervals of %+v: %v", n, s.Result, err)
	}
	s.Close()
	if _, err := a.storedAt(t.Context(), at, "last"); err == nil || !strings.Contains(err.Error(), `the master has no run "last"`) {
		t.Errorf("no run: %v", err)
	}
	for end := time.Now().Add(time.Minute); open.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if made.Load() != 2 || open.Load() != 0 {
		t.Errorf("%d of %d connections are open", open.Load(), made.Load())
	}
}
