package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// TestStreamsEndWithTheirLogin is B16.
func TestStreamsEndWithTheirLogin(t *testing.T) {
	r := serve(t, Options{}).people()
	r.master.log = "printed\n"
	admin := r.tokens[auth.Admin]
	id := r.running()
	viewer, _ := r.store.UserNamed(t.Context(), "viewer")
	for _, path := range []string{"/api/v1/events", "/api/v1/runs/" + id + "/log?follow=1"} {
		for _, end := range map[string]func(token string){
			"revoked": func(token string) {
				token, _, _ = auth.ParseToken(token)
				if got := r.ask(admin, "DELETE", "/api/v1/tokens/"+token, ""); got.StatusCode != http.StatusNoContent {
					t.Errorf("revoke: %d %s", got.StatusCode, got.body)
				}
			},
			"disabled": func(string) {
				if got := r.ask(admin, "PATCH", "/api/v1/users/"+viewer.ID, `{"disabled":true}`, "If-Match", "*"); got.StatusCode != http.StatusOK {
					t.Errorf("disable: %d %s", got.StatusCode, got.body)
				}
				r.ask(admin, "PATCH", "/api/v1/users/"+viewer.ID, `{"disabled":false}`, "If-Match", "*")
			},
		} {
			token := r.token("viewer", auth.Viewer)
			_, lines := r.follow(token, path)
			_, others := r.follow(r.tokens[auth.Tester], path)
			for _, l := range []<-chan string{lines, others} {
				if strings.HasPrefix(path, "/api/v1/events") {
					comes(t, l, "running")
				} else {
					comes(t, l, "printed")
				}
			}
			end(token)
			ends(t, lines)
			r.master.interval(id, 1)
			if strings.HasPrefix(path, "/api/v1/events") {
				comes(t, others, `"interval":`) // still open
			}
		}
	}
	now := time.Now()
	short := r.token("viewer", auth.Viewer)
	tokenID, _, _ := auth.ParseToken(short)
	kept, _ := r.store.Token(t.Context(), tokenID)
	kept.Expires = now.Add(300 * time.Millisecond)
	_ = r.store.PutToken(t.Context(), kept)
	_, lines := r.follow(short, "/api/v1/events")
	comes(t, lines, "running")
	ends(t, lines) // when it expires
}

// TestSlowReaderIsCutOff is F33: who reads nothing is cut off, and others miss nothing.
func TestSlowReaderIsCutOff(t *testing.T) {
	r := serve(t, Options{Times: Times{Event: 300 * time.Millisecond}}).people()
	id := r.running()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", r.tokens[auth.Viewer])
	_, lines := r.follow(r.tokens[auth.Viewer], "/api/v1/events?run="+id)
	eventually(t, "both streams are open", func() bool { return r.api.streams.count() == 2 })
	text := strings.Repeat("x", 32<<10)
	n := 0
	eventually(t, "the slow reader is cut off", func() bool {
		r.master.mu.Lock()
		r.master.emit(id, event.Event{Kind: event.Note, Text: text})
		n = len(r.master.events)
		r.master.mu.Unlock()
		comes(t, lines, fmt.Sprintf("id: %d", n)) // the other one has each
		return r.api.streams.count() == 1
	})
	t.Logf("after %d events", n)
}

// TestStreamsAreCapped is the end of F34: one stream more than the limit is refused.
func TestStreamsAreCapped(t *testing.T) {
	r := serve(t, Options{Streams: 3}).people()
	id := r.running()
	var last <-chan string
	for range 3 {
		_, lines := r.follow(r.tokens[auth.Viewer], "/api/v1/events?run="+id)
		comes(t, lines, "running")
		last = lines
	}
	got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/events", "")
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "5" || got.problem(t).Code != "unavailable" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs", ""); got.StatusCode != http.StatusOK {
		t.Errorf("others: %d", got.StatusCode)
	}
	_ = last
}

// TestManyReaders is F34: each of a thousand readers (here of a hundred, but for make
// test-long) gets each event, in order and without a gap, whose totals are made once for
// all; a thousand take less than 200 MiB, with their clients in this process; and one
// reader more is refused.
func TestManyReaders(t *testing.T) {
	const events = 20
	readers, most := 100, int64(100<<20)
	if long.Run {
		readers, most = 1000, 200<<20
	}
	r := serve(t, Options{Streams: readers}).people()
	id := r.running()
	path := "/api/v1/events?totals=1&run=" + id
	before := inUse(true)
	var all []<-chan string
	for range readers {
		_, lines := r.follow(r.tokens[auth.Viewer], path)
		all = append(all, lines)
	}
	var made atomic.Int64
	for n := range events {
		count := int64(n)
		r.master.mu.Lock()
		r.master.emit(id, event.Event{Kind: event.Interval, Interval: &run.Interval{Metrics: map[string]run.Record{"x": {Count: &count}}}, Totals: func() event.Totals {
			made.Add(1)
			return event.Totals{}
		}})
		r.master.mu.Unlock()
	}
	const last = 3 + events // the first three are the run's states
	late := time.After(60 * time.Second)
	for n, lines := range all {
		for at := 0; at < last; {
			select {
			case line, more := <-lines:
				if !more {
					t.Fatalf("reader %d: its stream has ended after event %d", n, at)
				}
				if text, ok := strings.CutPrefix(line, "id: "); ok {
					if at++; text != strconv.Itoa(at) {
						t.Fatalf("reader %d: event %s came, want %d", n, text, at)
					}
				}
			case <-late:
				t.Fatalf("reader %d: event %d did not come in time", n, at+1)
			}
		}
	}
	if n := made.Load(); n != events {
		t.Errorf("totals were made %d times for %d events", n, events)
	}
	// What the collector has not come to yet is of the process too.
	if grown := inUse(false) - before; grown > most {
		t.Errorf("%d readers take %d MiB, want %d at most", readers, grown>>20, most>>20)
	} else {
		t.Logf("%d readers and their clients take %d MiB", readers, grown>>20)
	}
	got := r.ask(r.tokens[auth.Viewer], "GET", path, "")
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "5" || got.problem(t).Code != "unavailable" {
		t.Errorf("one more than may be: %d %s", got.StatusCode, got.body)
	}
}

// inUse is what this process uses, after a collection or as it is.
func inUse(collect bool) int64 {
	if collect {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// TestServerEndsStreams holds that a server that ends does not wait for readers.
func TestServerEndsStreams(t *testing.T) {
	r := serve(t, Options{}).people()
	id := r.running()
	_, lines := r.follow(r.tokens[auth.Viewer], "/api/v1/events?run="+id)
	comes(t, lines, "running")
	done := make(chan error, 1)
	go func() { done <- r.end() }()
	ends(t, lines)
	if err := <-done; err != nil { // it has waited Times.Shutdown in vain
		t.Errorf("Serve: %v", err)
	}
}

// TestClientEvents holds what ends a client's events.
func TestClientEvents(t *testing.T) {
	r := serve(t, Options{}).people()
	id := r.running()
	c, err := client.New(r.url, client.Options{Token: r.tokens[auth.Viewer]})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for e, err := range c.Events(t.Context(), "20060102-150405-aaaaaa", 0) {
		if !client.IsCode(err, types.NotFound) {
			t.Errorf("no run: %v, %v", e, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for e, err := range c.Events(ctx, id, 1) {
		if n++; n == 1 && (err != nil || e.Number != 2) || n == 2 && (err != nil || e.Number != 3) || n == 3 && err != context.Canceled {
			t.Errorf("%d: %+v, %v", n, e, err)
		}
		if n == 2 {
			cancel()
		}
	}
	if n != 3 {
		t.Errorf("%d came", n)
	}
	r.master.mu.Lock()
	r.master.dropped = 2
	r.master.mu.Unlock()
	if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/events?after=1", ""); got.StatusCode != http.StatusGone || got.problem(t).Code != types.TooOld {
		t.Errorf("events that are no longer stored: %d %s", got.StatusCode, got.body)
	}
	for e, err := range c.Events(t.Context(), id, 1) { // begins again, with those that are
		if err != nil || e.Number != 3 {
			t.Errorf("after 1 of stored ones from 3: %+v, %v", e, err)
		}
		break
	}
	r.master.mu.Lock()
	r.master.dropped = 0
	r.master.mu.Unlock()
	for e := range c.Events(t.Context(), id, 0) {
		if e.Number == 2 {
			break
		}
	}
	eventually(t, "no stream is left", func() bool { return r.api.streams.count() == 0 })
}
