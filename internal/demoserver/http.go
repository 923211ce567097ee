// Package demoserver holds gobench's own small servers: something to aim a first run
// at, and a third count of what a run sent.
package demoserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// HTTP answers every request with the same page of Size bytes, after Delay. Both must be
// set before Serve, which panics if Size is below 0.
type HTTP struct {
	Delay time.Duration
	Size  int // of the page, in bytes

	served atomic.Int64
}

// Served is the number of requests answered so far.
func (t *HTTP) Served() int64 { return t.served.Load() }

// Serve serves on l, which it closes, until ctx ends, then lets requests in flight finish,
// at most 5 s. It returns nil if they did, context.DeadlineExceeded if not, or an error of
// l that ended it before. Requests whose client went away are not counted as served.
func (t *HTTP) Serve(ctx context.Context, l net.Listener) error {
	page := make([]byte, t.Size)
	for i := range page {
		page[i] = "gobench\n"[i%8]
	}
	length := fmt.Sprint(t.Size)
	srv := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if t.Delay > 0 {
				select {
				case <-time.After(t.Delay):
				case <-r.Context().Done():
					return
				}
			}
			h := w.Header()
			h.Set("Content-Type", "text/plain; charset=utf-8")
			h.Set("Content-Length", length)
			if _, err := w.Write(page); err == nil {
				t.served.Add(1)
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := srv.Shutdown(limit)
	<-done
	return err
}
