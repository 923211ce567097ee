//go:build linux

package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// fakeBus is a bus without a network, and a master's end of it for tests.
type fakeBus struct {
	commits   atomic.Bool // what is delivered is committed
	down      atomic.Bool // nothing gets through
	ready     chan struct{}
	once      sync.Once
	fetched   atomic.Int64 // bytes
	committer chan *agentpb.Committed

	mu         sync.Mutex
	do         func(context.Context, *agentpb.Command) *agentpb.Answer
	open       func(string) (agent.Blob, error)
	blobs      map[string][]byte
	spoil      func(offset int64, b []byte) ([]byte, error) // what is fetched
	beats      []*agentpb.Beat
	deliveries []*agentpb.Delivery
	commands   int
}

func newBus() *fakeBus {
	b := &fakeBus{ready: make(chan struct{}), blobs: map[string][]byte{}, committer: make(chan *agentpb.Committed, 10000)}
	b.commits.Store(true)
	return b
}

var errDown = errors.New("the bus is down")

func (b *fakeBus) Beat(_ context.Context, beat *agentpb.Beat) error {
	if b.down.Load() {
		return errDown
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beats = append(b.beats, proto.CloneOf(beat))
	return nil
}

func (b *fakeBus) Commands(ctx context.Context, do func(context.Context, *agentpb.Command) *agentpb.Answer) error {
	b.mu.Lock()
	b.do = do
	b.mu.Unlock()
	b.once.Do(func() { close(b.ready) })
	<-ctx.Done()
	return nil
}

func (b *fakeBus) Deliver(_ context.Context, d *agentpb.Delivery) error {
	if b.down.Load() {
		return errDown
	}
	if size := proto.Size(d); size > agentpb.MaxDelivery {
		return fmt.Errorf("delivery %d has %d bytes", d.Number, size)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliveries = append(b.deliveries, proto.CloneOf(d))
	if b.commits.Load() {
		b.committer <- &agentpb.Committed{Run: d.Run, Epoch: d.Epoch, Number: d.Number}
	}
	return nil
}

func (b *fakeBus) Committed(ctx context.Context, f func(*agentpb.Committed)) error {
	for {
		select {
		case c := <-b.committer:
			f(c)
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *fakeBus) Fetch(_ context.Context, blob *agentpb.Blob, offset int64, w io.Writer) error {
	b.mu.Lock()
	data, ok := b.blobs[blob.Sha256]
	spoil := b.spoil
	b.mu.Unlock()
	if !ok {
		return fmt.Errorf("the master has no blob %s", blob.Sha256)
	}
	data = data[offset:]
	var err error
	if spoil != nil {
		data, err = spoil(offset, bytes.Clone(data))
	}
	n, werr := w.Write(data)
	b.fetched.Add(int64(n))
	return errors.Join(err, werr)
}

func (b *fakeBus) Serve(ctx context.Context, open func(string) (agent.Blob, error)) error {
	b.mu.Lock()
	b.open = open
	b.mu.Unlock()
	<-ctx.Done()
	return nil
}

// put adds a blob to the master.
func (b *fakeBus) put(name string, data []byte) *agentpb.Blob {
	sum := sha256.Sum256(data)
	blob := &agentpb.Blob{Sha256: hex.EncodeToString(sum[:]), Size: int64(len(data)), Name: name}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs[blob.Sha256] = data
	return blob
}

// program is the executor of all tests, and its digest.
type program struct {
	body []byte
	sum  string
}

// executable reads the executor that TestMain has built.
var executable = sync.OnceValue(func() program {
	b, err := os.ReadFile(os.Getenv(executorEnv))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return program{b, hex.EncodeToString(sum[:])}
})

// executor adds the executor to the master.
func (b *fakeBus) executor() *agentpb.Blob {
	p := executable()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs[p.sum] = p.body
	return &agentpb.Blob{Sha256: p.sum, Size: int64(len(p.body))}
}

// command sends a command and returns the answer.
func (b *fakeBus) command(c *agentpb.Command) *agentpb.Answer {
	<-b.ready
	b.mu.Lock()
	b.commands++
	if c.Id == "" {
		c.Id = fmt.Sprint("command ", b.commands)
	}
	do := b.do
	b.mu.Unlock()
	return do(context.Background(), c)
}

// of returns the deliveries of a run, each once, in the order of their numbers.
func (b *fakeBus) of(run string) (all []*agentpb.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.deliveries {
		if d.Run == run {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(x, y *agentpb.Delivery) int {
		if x.Epoch != y.Epoch {
			return int(x.Epoch) - int(y.Epoch)
		}
		return int(x.Number) - int(y.Number)
	})
	return slices.CompactFunc(all, func(x, y *agentpb.Delivery) bool { return x.Epoch == y.Epoch && x.Number == y.Number })
}

// list describes deliveries in short.
func list(all []*agentpb.Delivery) string {
	var b strings.Builder
	for _, d := range all {
		if batch(d) != nil && d.Number%10 != 0 {
			continue // there are many
		}
		fmt.Fprintf(&b, "%d.%d:%d %.300s\n", d.Epoch, d.Number, d.Executor, strings.TrimPrefix(fmt.Sprintf("%T", d.What), "*agentpb.Delivery_")+" "+d.GetNote()+fmt.Sprint(d.GetEnded()))
	}
	return b.String()
}

// ended returns how each executor ended.
func ended(all []*agentpb.Delivery) map[uint32]*agentpb.Ended {
	m := map[uint32]*agentpb.Ended{}
	for _, d := range all {
		if e := d.GetEnded(); e != nil {
			m[d.Executor] = e
		}
	}
	return m
}

// notes returns all notes, of the agent and of executors.
func notes(all []*agentpb.Delivery) string {
	var b strings.Builder
	for _, d := range all {
		if n := d.GetNote(); n != "" {
			fmt.Fprintln(&b, n)
		}
		for _, n := range batch(d).GetNotes() {
			fmt.Fprintln(&b, n)
		}
	}
	return b.String()
}

// printed returns an executor's output, and how much of it was dropped.
func printed(t *testing.T, all []*agentpb.Delivery, executor uint32) (text string, dropped int64) {
	var at int64
	var b strings.Builder
	for _, d := range all {
		if l := d.GetLog(); l != nil && d.Executor == executor {
			if l.Offset != at {
				t.Errorf("output at %d follows %d", l.Offset, at)
			}
			b.Write(l.Text)
			at = l.Offset + int64(len(l.Text)) + l.Dropped
			dropped += l.Dropped
		}
	}
	return b.String(), dropped
}

// batch returns a delivery's batch, or nil.
func batch(d *agentpb.Delivery) *wire.Batch {
	body := d.GetBatch()
	if packed := d.GetPacked(); packed != nil {
		codec, err := compress.New(wire.MaxMessage)
		if err == nil {
			body, err = codec.Unpack(packed)
		}
		if err != nil {
			panic(err)
		}
	}
	if body == nil {
		return nil
	}
	b := new(wire.Batch)
	if err := proto.Unmarshal(body, b); err != nil {
		panic(err)
	}
	return b
}
