package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

const (
	consumer = "master"

	// inFlight is how many deliveries may be received and not yet acknowledged.
	inFlight = 8192
	// queued is how many deliveries may wait in memory: what the master processes in some
	// tens of milliseconds. The rest of a burst waits in the stream.
	queued = 48
)

// Deliveries calls take with the deliveries of agents until ctx ends: concurrently for
// different agents, in order and one after the other for each agent. After ctx's end it waits
// for the running calls of take and returns nil. Errors of the stream are logged and retried.
//
// If take returns an error, the delivery is retried after Times.Retry, before those of its
// agent that follow. A delivery is redelivered after Times.Redeliver until its Receipt.Done is
// called, at any time and by any goroutine. An invalid delivery is dropped with a log message.
//
// At most 48 deliveries of all agents wait for take or are in it, including those that take
// refuses; further ones, and any while 8192 are not done, wait in the stream. So take should
// return an error only if it can take none of any agent, as when the store fails. One that it
// can't take for another reason it should take, without a Done: that is redelivered later.
//
// Deliveries begins with the oldest delivery that is not done. Only one call is active on a
// bus: the previous one returns an error.
func (m *MasterConn) Deliveries(ctx context.Context, take func(*agentpb.Delivery, agentpb.Receipt) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &dispatcher{m: m, take: take, lanes: map[string]*lane{}, room: make(chan struct{}, 1)}
	defer d.wg.Wait()
	defer cancel()
	id := unique()
	for first := true; ctx.Err() == nil; {
		c, err := m.consumer(ctx, id, first)
		if err == nil {
			first = false
			err = d.receive(ctx, c)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errTaken):
			return err
		case errors.Is(err, errGap):
			m.log.Info("deliveries were lost in transit; they are redelivered in order")
		default:
			m.log.Warn("deliveries can't be read; trying again", "error", err)
			_ = pause(ctx, m.times.Retry)
		}
	}
	return nil
}

// consumer replaces the stream's one consumer, so that it begins with the oldest delivery that
// is not done. This preserves each agent's order when a master ends and when deliveries were
// lost in transit. Only the first time it may replace another master's consumer; later it
// returns errTaken instead. id identifies the call of Deliveries.
func (m *MasterConn) consumer(ctx context.Context, id string, first bool) (jetstream.Consumer, error) {
	ctx, cancel := m.attempt(ctx, 2*m.times.Store)
	defer cancel()
	if !first {
		c, err := m.js.Consumer(ctx, deliveries, consumer)
		for began := time.Now(); errors.Is(err, jetstream.ErrConsumerNotFound) && time.Since(began) < m.times.Store; { // another master may be about to create its own
			if err := pause(ctx, m.times.Retry); err != nil {
				return nil, err
			}
			c, err = m.js.Consumer(ctx, deliveries, consumer)
		}
		if err == nil && c.CachedInfo().Config.Metadata[ownerKey] != id {
			return nil, errTaken
		}
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, err
		}
	}
	if err := m.js.DeleteConsumer(ctx, deliveries, consumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	return m.js.CreateConsumer(ctx, deliveries, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: m.times.Redeliver, MaxAckPending: inFlight, MaxDeliver: -1,
		Metadata: map[string]string{ownerKey: id},
	})
}

// errGap means that a delivery was lost in transit, as when a server dies. JetStream would
// redeliver it after later ones, so the consumer is replaced.
var errGap = errors.New("a delivery was lost on its way")

// errTaken means that another master has called Deliveries: between two consumers, an
// agent's deliveries would lose their order.
var errTaken = errors.New("another master takes the deliveries now")

// ownerKey is the metadata key of a consumer's owner.
const ownerKey = "gobench"

// dispatcher distributes deliveries to the lanes of their agents.
type dispatcher struct {
	m    *MasterConn
	take func(*agentpb.Delivery, agentpb.Receipt) error
	wg   sync.WaitGroup

	mu    sync.Mutex // guards the fields below and those of the lanes
	lanes map[string]*lane
	count int           // deliveries in all lanes
	room  chan struct{} // receives a value when count has decreased
}

// lane is the queue of one agent's deliveries, the oldest first. It has a goroutine while
// it is not empty.
type lane struct {
	waiting []arrived
	known   map[uint64]bool // stream sequence numbers of waiting
}

// arrived is a delivery with its time of receipt.
type arrived struct {
	jetstream.Msg
	at time.Time
}

// receive adds deliveries of the stream to their lanes until ctx ends or the consumer fails.
// The error is never nil; it is errGap if a delivery was lost.
func (d *dispatcher) receive(ctx context.Context, c jetstream.Consumer) error {
	it, err := c.Messages(jetstream.PullMaxMessagesWithBytesLimit(512, 8<<20), jetstream.PullExpiry(5*d.m.times.Heartbeat), jetstream.PullHeartbeat(d.m.times.Heartbeat))
	if err != nil {
		return err
	}
	defer it.Stop()
	stop := context.AfterFunc(ctx, it.Stop)
	defer stop()
	next := uint64(1) // expected consumer sequence number
	for {
		msg, err := it.Next()
		if err != nil {
			return err
		}
		at := time.Now()
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer > next {
			return errGap
		}
		next = meta.Sequence.Consumer + 1
		agent := agentOf(msg.Subject(), deliverTo)
		if agent == "" {
			_ = msg.Term() // not an agent's delivery
			continue
		}
		if err := d.waitForRoom(ctx); err != nil {
			return err
		}
		d.add(ctx, agent, meta.Sequence.Stream, arrived{msg, at})
	}
}

// waitForRoom waits until fewer than queued deliveries are in the lanes. If ctx ends first, it
// returns ctx's error.
func (d *dispatcher) waitForRoom(ctx context.Context) error {
	for {
		d.mu.Lock()
		full := d.count >= queued
		d.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-d.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add appends a delivery to its agent's lane, which it creates and starts if necessary, unless
// the lane has it already: then it was redelivered because it has waited for long. number is
// its sequence number in the stream. Call waitForRoom before: add does not wait.
func (d *dispatcher) add(ctx context.Context, agent string, number uint64, msg arrived) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[agent]
	if l == nil {
		l = &lane{known: map[uint64]bool{}}
		d.lanes[agent] = l
		d.wg.Go(func() { d.run(ctx, agent, l) })
	}
	if l.known[number] {
		return
	}
	l.known[number] = true
	l.waiting = append(l.waiting, msg)
	d.count++
}

// run passes the deliveries of a lane to take until the lane is empty or ctx ends, and removes
// it. One that take refuses is retried without limit.
func (d *dispatcher) run(ctx context.Context, agent string, l *lane) {
	for {
		d.mu.Lock()
		if len(l.waiting) == 0 || ctx.Err() != nil {
			delete(d.lanes, agent)
			d.mu.Unlock()
			return
		}
		msg := l.waiting[0]
		d.mu.Unlock()
		if err := d.one(ctx, agent, msg); err != nil {
			d.m.log.Warn("a delivery is refused; trying again", "agent", agent, "error", err)
			_ = msg.InProgress() // so that it is not redelivered meanwhile
			_ = pause(ctx, d.m.times.Retry)
			continue
		}
		d.mu.Lock()
		meta, _ := msg.Metadata() // it succeeded in receive
		delete(l.known, meta.Sequence.Stream)
		l.waiting[0] = arrived{}
		l.waiting = l.waiting[1:]
		d.count--
		d.mu.Unlock()
		select {
		case d.room <- struct{}{}:
		default:
		}
	}
}

// one passes a delivery to take and returns take's error. An invalid one, or one of another
// agent, is dropped, with nil.
func (d *dispatcher) one(ctx context.Context, agent string, msg arrived) error {
	v := new(agentpb.Delivery)
	if err := proto.Unmarshal(msg.Data(), v); err != nil || v.Agent != agent {
		d.m.log.Error("an invalid delivery is dropped", "agent", agent, "claims", v.Agent, "error", err)
		return ignore(msg.Term())
	}
	return d.take(v, agentpb.Receipt{Bytes: len(msg.Data()), At: msg.at, Done: func() {
		if err := msg.Ack(); err != nil && ctx.Err() == nil {
			d.m.log.Debug("an acknowledged delivery will be redelivered", "agent", agent, "error", err)
		}
	}})
}

// ignore discards the error of an operation that is repeated anyway if it fails.
func ignore(error) error { return nil }
