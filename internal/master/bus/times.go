package bus

import "time"

// Times holds the timeouts and intervals of the bus. The zero value of a field means its
// default, as DefaultTimes returns it. The master, its embedded server and the agents of a
// cluster should use the same Times.
type Times struct {
	// Ping is the interval of the pings that each end of a connection sends. A peer that
	// answers none of three is disconnected. Default 2 s, so a dead peer is noticed within 6 s.
	Ping time.Duration
	// Connect is the limit for one attempt to connect, and for one write. Default 5 s.
	Connect time.Duration
	// Reconnect is the wait before a lost connection is attempted again. Up to 1.5 times as
	// much is added at random, with TLS up to 4 times. Default 200 ms.
	Reconnect time.Duration
	// Registry is how long an agent stays in the registry after its last beat. Default 15 s.
	Registry time.Duration
	// Redeliver is when a delivery that was received and not acknowledged is sent again.
	// Default 10 s.
	Redeliver time.Duration
	// Retry is the wait before a delivery that the master refused is offered to it again, and
	// before a stream that failed is read again. Default 250 ms.
	Retry time.Duration
	// Heartbeat is the interval of the server's heartbeats on the stream of deliveries; after
	// two missing ones the stream is read again. At least 500 ms, the minimum of JetStream.
	// Default 2 s.
	Heartbeat time.Duration
	// Resend is when a command without an answer is sent again. Default 3 s.
	Resend time.Duration
	// Away is how long an agent that does not listen is waited for before a command to it
	// fails. Default 2 s.
	Away time.Duration
	// AwayKnown takes the place of Away once the agent may have received the command: it may
	// be reconnecting. Default 10 s.
	AwayKnown time.Duration
	// Store is the limit for one attempt to store a beat or a delivery. Default 5 s.
	Store time.Duration
	// Part is the limit for one attempt to fetch a part of a blob. Default 10 s.
	Part time.Duration
	// Leader is the interval at which the master checks that its streams have a leader.
	// Default 500 ms.
	Leader time.Duration
}

// DefaultTimes returns the defaults.
func DefaultTimes() Times {
	return Times{
		Ping: 2 * time.Second, Connect: 5 * time.Second, Reconnect: 200 * time.Millisecond,
		Registry: 15 * time.Second, Redeliver: 10 * time.Second, Retry: 250 * time.Millisecond, Heartbeat: 2 * time.Second,
		Resend: 3 * time.Second, Away: 2 * time.Second, AwayKnown: 10 * time.Second,
		Store: 5 * time.Second, Part: 10 * time.Second, Leader: 500 * time.Millisecond,
	}
}

// minHeartbeat is the shortest heartbeat that JetStream accepts.
const minHeartbeat = 500 * time.Millisecond

// fields returns pointers to all fields.
func (t *Times) fields() []*time.Duration {
	return []*time.Duration{&t.Ping, &t.Connect, &t.Reconnect, &t.Registry, &t.Redeliver, &t.Retry, &t.Heartbeat,
		&t.Resend, &t.Away, &t.AwayKnown, &t.Store, &t.Part, &t.Leader}
}

// withDefaults returns t with the default in each field that is zero, and Heartbeat at least
// minHeartbeat.
func (t Times) withDefaults() Times {
	usual := DefaultTimes()
	for i, d := range t.fields() {
		if *d == 0 {
			*d = *usual.fields()[i]
		}
	}
	t.Heartbeat = max(t.Heartbeat, minHeartbeat)
	return t
}

// Scale returns t with its defaults filled in and multiplied by f; Heartbeat stays at least
// 500 ms. Connect, Store and Part stay as they are: they are limits for work, which takes its
// time whatever f is. Tests of whole clusters use it with f < 1.
func (t Times) Scale(f float64) Times {
	t = t.withDefaults()
	for _, d := range []*time.Duration{&t.Ping, &t.Reconnect, &t.Registry, &t.Redeliver, &t.Retry, &t.Heartbeat, &t.Resend, &t.Away, &t.AwayKnown, &t.Leader} {
		*d = time.Duration(float64(*d) * f)
	}
	t.Heartbeat = max(t.Heartbeat, minHeartbeat)
	return t
}
