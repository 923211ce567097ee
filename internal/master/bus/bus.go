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

	// maxPayload is the size of the largest message, in bytes.
	maxPayload = 1 << 20
)

// idForm matches the ids that may be part of a subject.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// validID reports whether s may be part of a subject: it contains no wildcard and no dot.
func validID(s string) bool { return idForm.MatchString(s) }

// agentOf returns the agent's id, which follows prefix in a subject, up to the next dot; or ""
// if the subject has another prefix or no valid id.
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

// options returns the options of every connection: it reconnects without limit, writes fail
// rather than being buffered while it is down, and pings detect a dead peer. The client calls
// up when the connection is made or made again, and down when it is lost.
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

// pause waits for d. It returns ctx's error if ctx ends first.
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

// away reports whether err means that the subject has no subscriber or the connection is
// down: the request may be repeated.
func away(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionReconnecting)
}

// because returns an error that wraps ctx's error, for what was attempted, with the text of
// the last error of an attempt (nil: none). ctx must have ended.
func because(ctx context.Context, what string, last error) error {
	if last == nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	return fmt.Errorf("%s: %w (last: %v)", what, ctx.Err(), last)
}
