package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// JoinError is a master's refusal of a request to join.
type JoinError struct {
	Code string // as in agentpb.Joined
	Text string
}

func (e *JoinError) Error() string { return e.Text }

// JoinOptions are the options of Join.
type JoinOptions struct {
	Dir   string // the agent's folder, where its key and identity are stored
	Creds string // file of credentials, when the token is for a NATS cluster
	Hello *agentpb.Hello
	Log   *slog.Logger // nil: nothing is logged
}

// Join creates the agent's key in o.Dir, unless it exists, asks the master of the token to
// accept the agent, and returns the resulting identity, which it has stored in o.Dir. If the
// master refuses, the error is a *JoinError, or wraps nats.ErrAuthorization if the token is
// not valid at all; the key stays for another attempt. Connecting takes up to 10 s for each
// address of the token, whatever ctx; the answer must arrive within 30 s of the call. A master
// that is starting, and does not listen for requests yet, is waited for.
func Join(ctx context.Context, token string, o JoinOptions) (Identity, error) {
	t, err := ParseToken(token)
	if err != nil {
		return Identity{}, err
	}
	seed, err := ownSeed(o.Dir)
	if err != nil {
		return Identity{}, fmt.Errorf("join: %w", err)
	}
	key, err := PublicKey(seed)
	if err != nil {
		return Identity{}, fmt.Errorf("join: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	more := []nats.Option{nats.CustomInboxPrefix(joinInbox(t.ID)), nats.Timeout(10 * time.Second), nats.MaxReconnects(0),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Log.Warn("join", "error", err) })}
	if o.Creds == "" {
		more = append(more, nats.UserInfo(t.ID, t.Secret))
	} else {
		creds, err := credentials(o.Creds)
		if err != nil {
			return Identity{}, fmt.Errorf("join: %w", err)
		}
		more = append(more, creds)
	}
	nc, err := natsConnect(addressList(t.Addresses), append(more, secure(t.Pin, t.CA)...)...)
	if err != nil {
		if errors.Is(err, nats.ErrAuthorization) && t.Pin != [32]byte{} {
			return Identity{}, fmt.Errorf("join: the master does not know this token, or it has been used or is too old: make another one (%w)", err)
		}
		return Identity{}, fmt.Errorf("join at %s: %w", strings.Join(t.Addresses, ", "), reason(err))
	}
	defer nc.Close()
	b, err := proto.Marshal(&agentpb.Join{Token: t.ID, Secret: t.Secret, Key: key, Hello: o.Hello})
	if err != nil {
		return Identity{}, err
	}
	m, err := nc.RequestWithContext(ctx, joinSubject, b)
	for errors.Is(err, nats.ErrNoResponders) && pause(ctx, 100*time.Millisecond) == nil { // the master is starting
		m, err = nc.RequestWithContext(ctx, joinSubject, b)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("join: %w", err)
	}
	var j agentpb.Joined
	if err := proto.Unmarshal(m.Data, &j); err != nil {
		return Identity{}, fmt.Errorf("join: the master's answer: %w", err)
	}
	if j.Error != "" {
		return Identity{}, &JoinError{Code: j.Code, Text: j.Error}
	}
	i := Identity{Agent: j.Agent, Key: key, MasterKey: j.MasterKey, Cluster: j.Cluster,
		Addresses: t.Addresses, Pin: t.Pin, CA: t.CA, Creds: o.Creds, seed: seed}
	if err := WriteIdentity(o.Dir, i); err != nil {
		return Identity{}, fmt.Errorf("join: %w", err)
	}
	return i, nil
}

// secure returns the options that verify the server: by the pin of its authority unless that
// is zero, by the authorities (DER) of a NATS cluster, or otherwise nil: by the system's.
func secure(pin [32]byte, authorities []byte) []nats.Option {
	switch {
	case pin != [32]byte{}:
		return []nats.Option{nats.Secure(pinned(pin)), nats.TLSHandshakeFirst(), nats.IgnoreDiscoveredServers()}
	case len(authorities) > 0:
		return []nats.Option{signedBy(authorities)}
	}
	return nil
}

// addressList returns addresses in the form of the NATS client: URLs separated by commas.
// HOST:PORT becomes tls://HOST:PORT.
func addressList(addresses []string) string {
	list := make([]string, len(addresses))
	for i, a := range addresses {
		if !strings.Contains(a, "://") {
			a = "tls://" + a
		}
		list[i] = a
	}
	return strings.Join(list, ",")
}

// unique returns a random part of a subject.
func unique() string { return rand.Text()[:16] }
