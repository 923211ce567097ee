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
	"github.com/gobench-io/gobench/internal/run"
)

// maxEncoded is how many events are kept as they are sent.
const maxEncoded = 256

type eventsQuery struct {
	Run    string `query:"run" maxLength:"64" doc:"id; none: of all runs"`
	After  uint64 `query:"after" doc:"number of the last event that is known; none: all that are kept"`
	Totals bool   `query:"totals" doc:"intervals carry the totals of the run"`
	Last   string `header:"Last-Event-ID" maxLength:"20" doc:"as after: what a browser sends when it reconnects"`
}

func (s *Server) events(ctx context.Context, in *eventsQuery) (*huma.StreamResponse, error) {
	after := in.After
	if in.Last != "" {
		n, err := strconv.ParseUint(in.Last, 10, 64)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, types.BadParameter, "Last-Event-ID is no number of an event")
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
		return s.tell(ctx, cancel, w, events, in.Totals)
	}), nil
}

// tell writes events until they or ctx end, or the reader is too slow: then it cuts the
// connection. It calls cancel and waits until no event is left.
func (s *Server) tell(ctx context.Context, cancel context.CancelFunc, w *recorder, events <-chan *Event, totals bool) error {
	defer func() {
		cancel()
		for range events { // the master sees that ctx has ended
		}
	}()
	// A write that waits for the reader does not hold up the end for long.
	hurried := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(hurried)
		_ = w.control.SetWriteDeadline(time.Now().Add(time.Second))
	})
	defer func() {
		if !stop() {
			<-hurried // w is not to be touched when this has returned
		}
	}()

	w.wait = s.options.Times.Event
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy that would wait for more
	w.WriteHeader(http.StatusOK)
	say := func(text string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return w.control.Flush()
	}
	if err := say("retry: 1000\n\n"); err != nil {
		return err
	}
	beat := time.NewTicker(s.options.Times.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err := say(": still here\n\n"); err != nil {
				return err
			}
		case e, more := <-events:
			if !more {
				return nil
			}
			text, err := s.encoded.of(e, totals)
			if err != nil {
				return err
			}
			if err := say(text); err != nil {
				return err
			}
		}
	}
}

// encoded keeps the last events as they are sent, so that what a thousand readers see is
// made once. Its zero value is ready.
type encoded struct {
	mu    sync.Mutex
	kept  map[encodedKey]*encodedEvent
	order []encodedKey // the oldest first
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

func (c *encoded) of(e *Event, totals bool) (string, error) {
	key := encodedKey{e.Number, totals}
	c.mu.Lock()
	at, ok := c.kept[key]
	if !ok {
		if c.kept == nil {
			c.kept = map[encodedKey]*encodedEvent{}
		}
		at = &encodedEvent{}
		c.kept[key] = at
		if c.order = append(c.order, key); len(c.order) > maxEncoded {
			delete(c.kept, c.order[0])
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
