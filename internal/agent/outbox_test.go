package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// sink is a bus that stores what is delivered.
type sink struct {
	Bus
	mu  sync.Mutex
	all []*agentpb.Delivery
}

func (s *sink) Deliver(_ context.Context, d *agentpb.Delivery) error {
	if proto.Size(d) > agentpb.MaxDelivery {
		return errors.New("too large")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, d)
	return nil
}

// of returns what was delivered of a run: the notes, and "bytes" or "over" for others.
func (s *sink) of(run string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range s.all {
		if d.Run != run {
			continue
		}
		switch {
		case d.Number != uint64(len(all)+1) || d.Agent != "A1" || d.Epoch != 1:
			return append(all, fmt.Sprintf("delivery %d of agent %s as number %d of all", d.Number, d.Agent, i))
		case d.GetLog() != nil:
			all = append(all, "bytes")
		case d.GetOver():
			all = append(all, "over")
		default:
			all = append(all, d.GetNote())
		}
	}
	return all
}

// What can never be delivered is replaced by a note: what is behind it, and what other runs
// have to deliver, does not wait for it.
func TestWhatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	const most = 900 << 10
	const lost = "agent A1 has lost something that it had to deliver: "
	for _, tt := range []struct {
		name   string
		sizes  []int
		closed func(file string) error // while the agent does not run
		open   func(file string) error // while it runs
		want   []string                // Over follows
	}{
		{"nothing is wrong", []int{most, 1}, nil, nil, []string{"bytes", "bytes"}},
		{"too large", []int{1, 2 << 20, 1}, nil, nil, []string{"bytes", lost + "it has 2097177 bytes, and at most 1044480 are allowed", "bytes"}},
		{"damaged", []int{most, most, most, most, most}, func(file string) error {
			b, err := os.ReadFile(file)
			if err == nil {
				b[2*most+most/2]++
				err = os.WriteFile(file, b, 0o600)
			}
			return err
		}, nil, []string{"bytes", "bytes", lost + "it is not on the disk any more", lost + "it is not on the disk any more", lost + "it is not on the disk any more"}},
		{"not readable", []int{most, most, most, most, most}, nil, func(file string) error { return os.Truncate(file, 4*most+most/2) },
			[]string{"bytes", "bytes", "bytes", "bytes", lost + "read record 5 of the spool DIR/one-1: EOF"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, bus, times := t.TempDir(), &sink{}, DefaultTimes()
			times.Resend = time.Hour
			open := func() *outbox {
				o, err := openOutbox(dir, "A1", bus, slog.New(slog.DiscardHandler), times)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			o := open()
			for run, sizes := range map[string][]int{"one": tt.sizes, "two": {1}} {
				q, err := o.open(run, 1)
				for _, n := range sizes {
					err = errors.Join(err, o.deliver(q, &agentpb.Delivery{Run: run, Agent: "A1", Epoch: 1, What: &agentpb.Delivery_Log{Log: &agentpb.Log{Text: make([]byte, n)}}}, true))
				}
				if err = errors.Join(err, o.deliver(q, &agentpb.Delivery{Run: run, Agent: "A1", Epoch: 1, What: &agentpb.Delivery_Over{Over: true}}, true)); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, "one-1", fmt.Sprintf("%016d", 1))
			if err := o.close(); err != nil {
				t.Fatal(err)
			}
			if tt.closed != nil {
				if err := tt.closed(file); err != nil {
					t.Fatal(err)
				}
			}
			o = open()
			defer o.close()
			if tt.open != nil {
				if err := tt.open(file); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			var sender sync.WaitGroup
			sender.Go(func() { o.send(ctx) })
			defer sender.Wait()
			defer cancel()
			want := append(slices.Clone(tt.want), "over")
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				one, two := bus.of("one"), bus.of("two")
				for i := range one {
					one[i] = strings.ReplaceAll(one[i], dir, "DIR")
				}
				if slices.Equal(one, want) && slices.Equal(two, []string{"bytes", "over"}) {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("delivered:\n%q, want\n%q; of the other run\n%q", one, want, two)
				}
			}
		})
	}
}
