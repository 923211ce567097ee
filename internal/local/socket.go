package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/process"
)

// request is a line of JSON that is sent over a run's socket, and reply the line that
// answers it.
type (
	request struct {
		What  string  `json:"what"` // pause, resume, scale, stop, cancel
		Class string  `json:"class,omitempty"`
		Users int64   `json:"users"` // of scale; below 0: unchanged
		Rate  float64 `json:"rate"`  // of scale; below 0: unchanged
	}
	reply struct {
		Error string `json:"error,omitempty"`
	}
)

const (
	controlSocket = "ctl"            // in the run's folder; only its user can open it
	controlLimit  = 10 * time.Second // of one request
	requestBy     = "gobench ctl"
)

// Send changes the run id, in the history h of this machine, from another process. It returns
// nil once the change is made or, for a stop or cancel, once that is requested. change.What is
// as in [event.Change], or "stop" or "cancel"; By is ignored. It is an error if the run is not
// running, refuses the change, or does not answer within 12 s, when the change may be made all
// the same. id must be valid: it is not checked. Users or a Rate below 0 count as unset.
func Send(h history.History, id string, change event.Change) error {
	conn, err := net.DialTimeout("unix", filepath.Join(h.Dir(id), controlSocket), time.Second)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("run %s is not running", id)
	}
	if err != nil {
		return fmt.Errorf("reach run %s: %w", id, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(controlLimit + time.Second)) // it only fails on a closed connection
	q := request{What: change.What, Class: change.Class, Users: -1, Rate: -1}
	if change.Users != nil {
		q.Users = *change.Users
	}
	if change.Rate != nil {
		q.Rate = *change.Rate
	}
	var a reply
	if err := errors.Join(json.NewEncoder(conn).Encode(q), json.NewDecoder(conn).Decode(&a)); err != nil {
		return fmt.Errorf("run %s did not answer: %w", id, err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// serve serves the run's socket until stop is called, which waits for the requests in
// progress, but not for those that have not been read; ctx's end stops reading too. If the
// socket can't be created, as when the folder's path is too long, the run continues without
// one.
func (r *load) serve(ctx context.Context) (stop func()) {
	path := filepath.Join(r.folder.Dir(), controlSocket)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return func() {}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return func() {}
	}
	ctx, over := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			wg.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(controlLimit))
				defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
				r.answer(ctx, conn)
			})
		}
	})
	return func() {
		listener.Close() // removes the socket
		over()
		wg.Wait()
	}
}

// answer reads one request, of less than 4096 bytes, does it and replies with its error. A
// request that was not read when ctx ended is refused with process.ErrNoLoad. The caller
// closes conn.
func (r *load) answer(ctx context.Context, conn net.Conn) {
	line, err := bufio.NewReaderSize(conn, 4096).ReadSlice('\n')
	if err != nil && ctx.Err() != nil {
		err = process.ErrNoLoad
	}
	q := request{Users: -1, Rate: -1}
	if err == nil {
		err = json.Unmarshal(line, &q)
	}
	if err == nil {
		err = r.do(q)
	}
	a := reply{}
	if err != nil {
		a.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(a) // the other side may have gone
}

// do does a request, and returns once a stop or cancel is requested or another change is made.
// An unknown What is refused by the executor. The error goes to the client.
func (r *load) do(q request) error {
	switch q.What {
	case "stop":
		r.Controls.Stop(requestBy)
		return nil
	case "cancel":
		r.Controls.Cancel(requestBy)
		return nil
	}
	change := event.Change{What: q.What, Class: q.Class, By: requestBy}
	if q.Users >= 0 {
		change.Users = &q.Users
	}
	if q.Rate >= 0 {
		change.Rate = &q.Rate
	}
	return r.Controls.Change(change)
}
