package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// shown is a view that stores what it shows.
type shown struct {
	view
	all []event.Event
}

func (s *shown) Show(e event.Event) { s.all = append(s.all, e) }

// A master that refuses to end a run was reached: the warning has its reason alone.
func TestEndIsRefused(t *testing.T) {
	servers.NoLeaks(t)
	answer := func(status int, code, detail string) *httptest.Server {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = w.Write(fmt.Appendf(nil, `{"code":%q,"status":%d,"detail":%q}`, code, status, detail))
		}))
		t.Cleanup(srv.Close)
		return srv
	}
	refusing, over := answer(http.StatusForbidden, "forbidden", "your role does not allow that"), answer(http.StatusConflict, "conflict", "it is over")
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for _, tt := range []struct {
		name, address string
		cancel        bool
		want          string // the beginning of the warning; empty: none
	}{
		{"a refused stop", refusing.URL, false, "could not stop the run: your role does not allow that"},
		{"a refused cancel", refusing.URL, true, "could not cancel the run: your role does not allow that"},
		{"a run that is over", over.URL, false, ""},
		{"no master", nobody.Addr().String(), false, "could not stop the run: no master answers at http://" + nobody.Addr().String()},
	} {
		c, err := client.New(tt.address, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := &shown{}
		(&remoteRun{client: c, view: v, id: "r1"}).end(t.Context(), tt.cancel)
		c.Close()
		if tt.want == "" && len(v.all) > 0 || tt.want != "" && (len(v.all) != 1 || v.all[0].Kind != event.Warning || !strings.HasPrefix(v.all[0].Text, tt.want)) {
			t.Errorf("%s: %+v", tt.name, v.all)
		}
	}
}
