package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// While the time of last use of a token or a session can't be stored, requests are answered, and
// that is logged once a minute; those of a login that was deleted are refused.
func TestLoginWithFullDisk(t *testing.T) {
	at := newClock()
	r := serve(t, Options{Now: at.now}).people()
	token, session := r.tokens[auth.Viewer], r.in("viewer")
	requests := func(want int) {
		t.Helper()
		for range 3 {
			if a := r.ask(token, "GET", "/api/v1/runs", ""); a.StatusCode != want {
				t.Errorf("with a token: %d %s, want %d", a.StatusCode, a.body, want)
			}
			if a := r.ask("", "GET", "/api/v1/runs", "", "Cookie", session); a.StatusCode != want {
				t.Errorf("with a session: %d %s, want %d", a.StatusCode, a.body, want)
			}
		}
	}
	fail := func(err error) {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		r.store.full = err
	}
	fail(run.ErrFull)
	for n := range 2 {
		at.add(2 * touchEvery)
		requests(http.StatusOK)
		if got := strings.Count(r.log.String(), "the time of last use"); got != n+1 {
			t.Errorf("it was logged %d times, want %d", got, n+1)
		}
	}
	fail(run.ErrNotFound)
	requests(http.StatusUnauthorized)
}
