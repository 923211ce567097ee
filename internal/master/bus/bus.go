// Package bus carries the messages of a master and its agents over NATS: over a server
// within the master's process ([Serve]), or over a NATS cluster of one's own. The code is
// the same on both: [MasterConn] is the master's side, [AgentConn] an agent's.
//
// On the embedded server nothing is allowed that is not named: an agent proves its nkey
// and gets the subjects of its own id, the holder of a join token may ask to join, and the
// master speaks from within the process. docs/formats/cluster.md lists the subjects.
//
// What the bus promises: a delivery that Deliver has taken is stored; the master gets it,
// in its agent's order, again and again until it says Done. A command is carried out once,
// however often it is sent or replayed. Everything else may be lost and is asked for again.
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	registry   = "gb_agents"     // KV bucket of the agents' beats
	deliveries = "gb_deliveries" // stream of what agents send of their runs

	everything   = "gb.>" // of gobench's own
	joinSubject  = "gb.join"
	inboxPrefix  = "_INBOX."
	beatSubject  = "$KV." + registry + "."
	deliverTo    = "gb.d."
	fetchSubject = "gb.f."
	commandTo    = "gb.c."
	answerTo     = "gb.r."

	// pings is how many pings may be unanswered; one more and the peer is disconnected.
	pings = 2

	// maxPayload is the largest message.
	maxPayload = 1 << 20

	// MaxDelivery is the largest delivery, encoded, in bytes. The rest up to NATS's limit
	// is for headers.
	MaxDelivery = maxPayload - 4096
)

// idForm is that of an id which may stand in a subject.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// validID tells whether s may be part of a subject: it can't be a wildcard or add a level.
func validID(s string) bool { return idForm.MatchString(s) }

// agentOf gives the agent's id in a subject that begins with prefix and may end with a
// further part; empty: there is none.
func agentOf(subject, prefix string) string {
	rest, ok := strings.CutPrefix(subject, prefix)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ".")
	if !validID(id) {
		return ""
	}
	return id
}

// options are those of every connection: it is made again for ever, what is written while
// it is down is refused rather than kept, and a peer that is gone is missed soon.
func options(name string, log *slog.Logger, t Times, up, down func()) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(t.Reconnect),
		nats.ReconnectJitter(t.Reconnect*3/2, t.Reconnect*4),
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(t.Ping),
		nats.MaxPingsOutstanding(pings),
		nats.FlusherTimeout(t.Connect),
		nats.Timeout(t.Connect),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			down()
			if err != nil {
				log.Warn("the bus is gone; trying again", "error", err)
			}
		}),
		nats.ConnectHandler(func(c *nats.Conn) { up() }),
		nats.ReconnectHandler(func(c *nats.Conn) {
			up()
			log.Info("the bus is back", "address", c.ConnectedAddr())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			log.Warn("the bus reports", "subject", subject, "error", err)
		}),
	}
}

// pause waits for d, or until ctx ends, whose error it returns then.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// away tells whether err says that nobody listened, or that the connection is down: what
// is asked may be asked again.
func away(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionReconnecting)
}

// because adds to ctx's error what was last in the way.
func because(ctx context.Context, what string, last error) error {
	if last == nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	return fmt.Errorf("%s: %w (last: %v)", what, ctx.Err(), last)
}
