package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// maxEncoded is how many encoded events are cached.
const maxEncoded = 256

type eventsQuery struct {
	Run    string `query:"run" maxLength:"64" doc:"id; unset: all runs"`
	After  uint64 `query:"after" doc:"number of the last event received; unset: all stored events"`
	Totals bool   `query:"totals" doc:"intervals carry the totals of the run"`
	Last   string `header:"Last-Event-ID" maxLength:"20" doc:"the same as after: browsers send it when they reconnect"`
}

// events streams the events of a run, until its end, or of all, after a number, until the
// client is gone, the login ends or the client reads too slowly. It returns a problem for a
// malformed Last-Event-ID (400), which goes before After, or an unknown run (404), and
// run.ErrTooOld (410) if events after the number are no longer stored.
func (s *Server) events(ctx context.Context, in *eventsQuery) (*huma.StreamResponse, error) {
	after := in.After
	if in.Last != "" {
		n, err := strconv.ParseUint(in.Last, 10, 64)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, types.BadParameter, "Last-Event-ID is not the number of an event")
		}
		after = n
	}
	if in.Run != "" {
		if !run.ValidID(in.Run) {
			return nil, errNotFound
		}
		if _, err := s.master.Run(ctx, in.Run); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	events, err := s.master.Events(ctx, in.Run, after)
	if err != nil {
		cancel()
		return nil, err
	}
	return streaming(func(_ context.Context, w *recorder) error {
		defer cancel()
		return s.writeEvents(ctx, cancel, w, events, in)
	}), nil
}

// writeEvents writes events, and a comment each Times.Heartbeat, until the requested run has
// ended, their channel is closed, ctx ends or the reader is slower than Times.Event, which
// closes the connection. It returns the error of the write or of an event's encoding, or nil,
// or ctx's error. It then calls cancel and drains events, so that the master can end the
// subscription. w is not used after it returns.
func (s *Server) writeEvents(ctx context.Context, cancel context.CancelFunc, w *recorder, events <-chan *Event, in *eventsQuery) error {
	defer func() {
		cancel()
		for range events { // until the master closes the channel
		}
	}()
	// When ctx ends, a write that waits for the reader ends within a second.
	shortened := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(shortened)
		_ = w.control.SetWriteDeadline(time.Now().Add(time.Second))
	})
	defer func() {
		if !stop() {
			<-shortened // w must not be used after this function returns
		}
	}()

	w.wait = s.options.Times.Event
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the answer
	w.WriteHeader(http.StatusOK)
	send := func(text string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return w.control.Flush()
	}
	if err := send("retry: 1000\n\n"); err != nil {
		return err
	}
	beat := time.NewTicker(s.options.Times.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err := send(": still here\n\n"); err != nil {
				return err
			}
		case e, more := <-events:
			if !more {
				return nil
			}
			text, err := s.encoded.of(e, in.Totals)
			if err != nil {
				return err
			}
			if err := send(text); err != nil {
				return err
			}
			if in.Run != "" && e.Kind == event.Ended {
				return nil
			}
		}
	}
}

// encoded caches the last events in encoded form, so that an event is encoded once for all
// readers. Its zero value is ready to use.
type encoded struct {
	mu    sync.Mutex
	cache map[encodedKey]*encodedEvent
	order []encodedKey // oldest first
}

type encodedKey struct {
	number uint64
	totals bool
}

type encodedEvent struct {
	once sync.Once
	text string
	err  error
}

// of returns an event as the text of a server-sent event: "id: N", "data: JSON" and an empty
// line. The first call for an event encodes it; others wait for that, unless maxEncoded other
// events came between. It may be called concurrently.
func (c *encoded) of(e *Event, totals bool) (string, error) {
	key := encodedKey{e.Number, totals}
	c.mu.Lock()
	at, ok := c.cache[key]
	if !ok {
		if c.cache == nil {
			c.cache = map[encodedKey]*encodedEvent{}
		}
		at = &encodedEvent{}
		c.cache[key] = at
		if c.order = append(c.order, key); len(c.order) > maxEncoded {
			delete(c.cache, c.order[0])
			c.order = c.order[1:]
		}
	}
	c.mu.Unlock()
	at.once.Do(func() {
		b, err := json.Marshal(types.NewEvent(e.Number, e.Run, e.Event, totals))
		at.text, at.err = fmt.Sprintf("id: %d\ndata: %s\n\n", e.Number, b), err
	})
	return at.text, at.err
}
