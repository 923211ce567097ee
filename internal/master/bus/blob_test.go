package bus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// TestBlobsOverBadLines: F39 and resumption. Lost parts are requested again after a cut, a
// damaged part is detected by the digest, a fetch with an offset continues where another
// ended.
func TestBlobsOverBadLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data, b := blob(4 << 20)
	damaged := atomic.Bool{}
	goes(t, func(ctx context.Context) error {
		return w.master.Serve(ctx, func(sum string) (agentpb.File, error) {
			f, err := opens(data, b)(sum)
			if err == nil && damaged.Load() {
				bad := slices.Clone(data)
				bad[3<<20] ^= 1
				f = file{bytes.NewReader(bad)}
			}
			return f, err
		})
	})
	i := w.identity(t, "a1")
	p := newLine(t, w.server.Addresses()[0])
	i.Addresses = []string{p.addr}
	a := dial(t, i)
	goes(t, func(ctx context.Context) error {
		return a.Serve(ctx, func(sum string) (agentpb.File, error) {
			bad := slices.Clone(data)
			bad[3<<20] ^= 1
			return opens(bad, b)(sum)
		})
	})
	// Cut twice during the fetch.
	var got bytes.Buffer
	cuts := 0
	err := a.Fetch(t.Context(), b, 0, writer(func(part []byte) (int, error) {
		if cuts < 2 && got.Len() > (cuts+1)*(1<<20) {
			cuts++
			p.cut()
		}
		return got.Write(part)
	}))
	if err != nil || !bytes.Equal(got.Bytes(), data) || cuts != 2 {
		t.Errorf("with %d cuts: %d bytes, %v", cuts, got.Len(), err)
	}
	// Cancelled in the middle, and continued.
	got.Reset()
	enough := errors.New("enough")
	err = a.Fetch(t.Context(), b, 0, writer(func(part []byte) (int, error) {
		if got.Len() > 1<<20 {
			return 0, enough
		}
		return got.Write(part)
	}))
	if !errors.Is(err, enough) {
		t.Errorf("the writer's error became %v", err)
	}
	if err := a.Fetch(t.Context(), b, int64(got.Len()), &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("resumed: %d bytes, %v", got.Len(), err)
	}
	if err := a.Fetch(t.Context(), b, b.Size, &got); err != nil || int64(got.Len()) != b.Size {
		t.Errorf("resumed at the end: %d bytes, %v", got.Len(), err)
	}
	// Damaged: on an agent the caller detects it, on the master Fetch does.
	damaged.Store(true)
	got.Reset()
	if err := a.Fetch(t.Context(), b, 0, &got); err != nil || bytes.Equal(got.Bytes(), data) {
		t.Errorf("damaged: %v", err)
	}
	if err := w.master.Fetch(t.Context(), "a1", b, io.Discard); !errors.Is(err, errDamaged) {
		t.Errorf("the master takes a damaged blob: %v", err)
	}
	for name, wrong := range map[string]*agentpb.Blob{
		"no such blob":   {Sha256: strings.Repeat("0", 64), Size: 1},
		"is no digest":   {Sha256: "../../etc/passwd", Size: 1},
		"should have 99": {Sha256: b.Sha256, Size: 99},
	} {
		if err := a.Fetch(t.Context(), wrong, 0, io.Discard); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestSlowLineKeepsItsConnection: F12. The parts of a fetch that are in transit do not
// block the pings. In make test, the line is twice as fast.
func TestSlowLineKeepsItsConnection(t *testing.T) {
	t.Parallel()
	times, rate := testTimes, int64(250_000)
	times.Ping = 2 * time.Second
	if long.Run {
		times.Ping, rate = 0, 125_000 // 1 Mbit/s
	}
	w := newWorld(t, func(o *ServerOptions) { o.Times = times })
	data, b := blob(1 << 20)
	goes(t, func(ctx context.Context) error { return w.master.Serve(ctx, opens(data, b)) })
	i := w.identity(t, "a1")
	p := newLine(t, w.server.Addresses()[0])
	i.Addresses = []string{p.addr}
	a := dialWith(t, i, times)
	_, since := a.state()
	p.rate.Store(rate)
	var got bytes.Buffer
	begun := time.Now()
	if err := a.Fetch(t.Context(), b, 0, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	if up, now := a.state(); !up || now != since {
		t.Error("the connection was lost")
	}
	if d := time.Since(begun); d > time.Minute {
		t.Errorf("took %v", d)
	}
}
