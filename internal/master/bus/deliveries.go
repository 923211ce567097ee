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

	// inFlight is how many deliveries may be out and not done.
	inFlight = 8192
	// queued is how many deliveries may wait to be taken: as many as are taken in some tens
	// of milliseconds. The rest of a burst waits in the stream.
	queued = 48
)

// Deliveries calls take with what agents send of their runs, in each agent's order, until
// ctx ends; agents at once, an agent's deliveries one after the other. What is not taken is tried
// again before what follows it. What is taken and not done comes again after Times.Redeliver.
//
// It begins with the oldest that is not done. Whoever listened before gets nothing more, but
// an error.
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
			m.log.Info("deliveries were lost on their way: they come again, in order")
		default:
			m.log.Warn("deliveries do not come; trying again", "error", err)
			_ = pause(ctx, m.times.Retry)
		}
	}
	return nil
}

// consumer makes the stream's one consumer anew, so that it begins with the oldest delivery
// that is not done: an agent's order holds over the end of a master that had taken some, and over
// deliveries that were lost on their way. The first time it may be another master's that it replaces.
func (m *MasterConn) consumer(ctx context.Context, id string, first bool) (jetstream.Consumer, error) {
	ctx, cancel := m.attempt(ctx, 2*m.times.Store)
	defer cancel()
	if !first {
		c, err := m.js.Consumer(ctx, deliveries, consumer)
		if errors.Is(err, jetstream.ErrConsumerNotFound) { // another master may be about to make its own
			if err := pause(ctx, 4*m.times.Retry); err != nil {
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

// errGap says that a delivery was sent to this master and did not come, as when a server
// dies: it would come again after those that follow it.
var errGap = errors.New("a delivery was lost on its way")

// errTaken ends Deliveries: two masters would tear an agent's deliveries apart.
var errTaken = errors.New("another master takes the deliveries now")

// ownerKey is where a consumer says whose it is.
const ownerKey = "gobench"

// dispatcher gives deliveries to the lanes of their agents.
type dispatcher struct {
	m    *MasterConn
	take func(*agentpb.Delivery, agentpb.Receipt) error
	wg   sync.WaitGroup

	mu    sync.Mutex // guards what follows, and the lanes
	lanes map[string]*lane
	count int           // that wait in all lanes
	room  chan struct{} // has one when count has become less
}

// lane is what waits of one agent, the oldest first. It has a goroutine while there is
// something.
type lane struct {
	waiting []arrived
	known   map[uint64]bool // numbers, in the stream, of what waits
}

// arrived is a delivery and when it came.
type arrived struct {
	jetstream.Msg
	at time.Time
}

// receive takes deliveries from the stream until ctx ends or the consumer fails.
func (d *dispatcher) receive(ctx context.Context, c jetstream.Consumer) error {
	it, err := c.Messages(jetstream.PullMaxMessagesWithBytesLimit(512, 8<<20), jetstream.PullExpiry(5*d.m.times.Heartbeat), jetstream.PullHeartbeat(d.m.times.Heartbeat))
	if err != nil {
		return err
	}
	defer it.Stop()
	stop := context.AfterFunc(ctx, it.Stop)
	defer stop()
	next := uint64(1) // number of what the consumer sends next
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
			_ = msg.Term() // nothing that an agent's delivery could be
			continue
		}
		if err := d.waitForRoom(ctx); err != nil {
			return err
		}
		d.add(ctx, agent, meta.Sequence.Stream, arrived{msg, at})
	}
}

// waitForRoom returns when less than queued deliveries wait.
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

// add puts a delivery at the end of its agent's lane. One that waits there already has
// come again only because it waits.
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

// run takes what waits in a lane until nothing does.
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
			d.m.log.Warn("a delivery is not taken; trying again", "agent", agent, "error", err)
			_ = msg.InProgress() // it waits longer than others
			_ = pause(ctx, d.m.times.Retry)
			continue
		}
		d.mu.Lock()
		meta, _ := msg.Metadata() // it had been read before
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

// one has a delivery taken. What is none, or another agent's, is dropped for good.
func (d *dispatcher) one(ctx context.Context, agent string, msg arrived) error {
	v := new(agentpb.Delivery)
	if err := proto.Unmarshal(msg.Data(), v); err != nil || v.Agent != agent {
		d.m.log.Error("what came as a delivery is none of this agent's", "agent", agent, "says", v.Agent, "error", err)
		return ignore(msg.Term())
	}
	return d.take(v, agentpb.Receipt{Bytes: len(msg.Data()), At: msg.at, Done: func() {
		if err := msg.Ack(); err != nil && ctx.Err() == nil {
			d.m.log.Debug("a delivery that is done comes again", "agent", agent, "error", err)
		}
	}})
}

// ignore is for what comes again by itself when it fails.
func ignore(error) error { return nil }
