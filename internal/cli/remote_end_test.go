package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
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
		(&remoteRun{shownRun: shownRun{view: v}, client: c, id: "r1"}).end(t.Context(), tt.cancel)
		c.Close()
		if tt.want == "" && len(v.all) > 0 || tt.want != "" && (len(v.all) != 1 || v.all[0].Kind != event.Warning || !strings.HasPrefix(v.all[0].Text, tt.want)) {
			t.Errorf("%s: %+v", tt.name, v.all)
		}
	}
}

// Who ends a run before its master has returned the run's id ends it once that is known.
func TestEndBeforeTheID(t *testing.T) {
	const id = "20260102-150405-a1b2c3"
	catch(func(os.Signal) {}, os.Interrupt).stop() // the goroutine of os/signal never ends
	for _, tt := range []struct {
		name string
		end  func(*remoteRun, context.Context)
	}{
		{"the key s", func(r *remoteRun, _ context.Context) { r.press('s', nil) }},
		{"Ctrl-C", func(r *remoteRun, ctx context.Context) { r.signal(ctx) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servers.NoLeaks(t)
			stopped := make(chan string, 10)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				switch path := q.URL.Path; {
				case q.Method == http.MethodPost:
					stopped <- path
					w.WriteHeader(http.StatusNoContent)
				case strings.HasSuffix(path, "/events"):
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, `data: {"number":1,"run":"`+id+`","event":"end"}`+"\n\n")
				default:
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"format":"gobench.result/2","id":"`+id+`","state":"finished"}`)
				}
			}))
			t.Cleanup(srv.Close)
			c, err := client.New(srv.URL, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			r := &remoteRun{shownRun: shownRun{app: &app{stdout: io.Discard, stderr: io.Discard}}, client: c}
			err = r.run(t.Context(), nil, func(ctx context.Context) (run.Order, error) {
				tt.end(r, ctx)
				return run.Order{ID: id}, nil
			})
			close(stopped)
			if first := <-stopped; err != nil || first != "/api/v1/runs/"+id+"/stop" || len(stopped) > 0 {
				t.Errorf("the master was sent %q: %v", first, err)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for name, want := range map[string]string{"": "run", "http": "http", "./scenarios/checkout.go": "checkout.go"} {
		if got := (&remoteRun{name: name}).title(); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
