package servers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Target is an HTTP server in the test's process that counts and stores its requests. Its
// answers depend on the path: /503 answers 503; /slow answers after 300 ms; /hangs and
// /forever never answer; /private wants the user ada, the password s3cret and the header
// X-Token: t0ken, else it answers 401; /echo wants a POST of five bytes with the header
// X-Test: yes, else it answers 400. Any other path answers 200. All answers have empty
// bodies.
type Target struct {
	*httptest.Server

	mu     sync.Mutex
	served int64
	asked  []string // a line for each request since the last TakeRequests
}

// NewTarget starts a target, which is closed at the end of the test.
func NewTarget(tb testing.TB) *Target {
	t := new(Target)
	t.Server = httptest.NewServer(http.HandlerFunc(t.answer))
	tb.Cleanup(t.Close)
	return t
}

// Served returns the number of requests that were answered, with any status.
func (t *Target) Served() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.served
}

// TakeRequests returns and forgets a line for each request that was answered since the last
// call or the start, in the order of the answers: method, URL, the header X-Row and the body,
// with a space between, and without spaces at the end.
func (t *Target) TakeRequests() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.asked
	t.asked = nil
	return lines
}

// answer answers a request as Target describes, and then counts and stores it; one that the
// client has given up it does not count.
func (t *Target) answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/503":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/forever", "/hangs":
		<-r.Context().Done()
		return
	case "/slow":
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	case "/private":
		if name, password, _ := r.BasicAuth(); name != "ada" || password != "s3cret" || r.Header.Get("X-Token") != "t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	case "/echo":
		w.Header().Set("X-Got", r.Method+r.Header.Get("X-Test"))
		if r.Method != http.MethodPost || r.Header.Get("X-Test") != "yes" || r.ContentLength != 5 {
			w.WriteHeader(http.StatusBadRequest)
		}
	}
	body, _ := io.ReadAll(r.Body) // a body that was cut off shows in the line
	t.mu.Lock()
	defer t.mu.Unlock()
	t.served++
	t.asked = append(t.asked, strings.TrimRight(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Row"), body), " "))
}
