package bus

import (
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

const (
	masterUser = "master"
	joining    = "join " // followed by a token's id: the holder of that join token
)

// joinTime is how long the holder of a join token may stay connected.
const joinTime = time.Minute

// admission authenticates the clients of the embedded server and grants them subjects;
// everything else is denied. The master connects within the process, with a secret that is
// random at each start. secret and refused must be set; a nil authorize admits no agent, a nil
// invited no join token.
type admission struct {
	authorize func(key string) (agent string, ok bool)
	invited   func(id string, hash []byte) bool
	refused   func(who, address string)
	secret    string

	mu   sync.Mutex
	who  map[uint64]string // by the server's id of a connection: agent, or joining and id
	seen []uint64          // keys of who, the oldest first
}

// remembered is the number of connections whose owner is stored. Older ones that still exist
// can't be closed by owner; a host's limit of open files is far below.
const remembered = 1 << 16

// Check implements server.Authentication: it reports whether a client may connect, and grants
// it its subjects. It is called concurrently. A refusal is passed to refused, except that of a
// client that claims to be the master.
func (a *admission) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	address := ""
	if r := c.RemoteAddress(); r != nil {
		address = r.String()
	}
	switch {
	case o.Nkey != "":
		if !nkeys.IsValidPublicUserKey(o.Nkey) {
			a.refused("no key", address)
			return false
		}
		if !proven(o.Nkey, o.Sig, c.GetNonce()) {
			a.refused(o.Nkey, address)
			return false
		}
		agent, ok := "", false
		if a.authorize != nil {
			agent, ok = a.authorize(o.Nkey)
		}
		if !ok || !validID(agent) {
			a.refused(o.Nkey, address)
			return false
		}
		a.remember(c.GetID(), agent)
		c.RegisterUser(&server.User{Username: agent, Permissions: agentMay(agent)})
		return true
	case o.Username == masterUser:
		return c.GetTLSConnectionState() == nil && // every connection by TCP has TLS
			subtle.ConstantTimeCompare([]byte(o.Password), []byte(a.secret)) == 1
	case o.Username != "":
		if !validID(o.Username) {
			a.refused(joining+"with no token", address)
			return false
		}
		if a.invited == nil || !a.invited(o.Username, HashSecret(o.Password)) {
			a.refused(joining+o.Username, address)
			return false
		}
		a.remember(c.GetID(), joining+o.Username)
		c.RegisterUser(&server.User{
			Username:           joining + o.Username,
			Permissions:        joinerMay(o.Username),
			ConnectionDeadline: time.Now().Add(joinTime),
		})
		return true
	}
	a.refused("nobody", address)
	return false
}

// proven reports whether sig, in base64, is the signature of the connection's nonce by the
// owner of a public key.
func proven(key, sig string, nonce []byte) bool {
	if len(nonce) == 0 {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		return false
	}
	pub, err := nkeys.FromPublicKey(key)
	return err == nil && pub.Verify(nonce, b) == nil
}

// agentMay returns all subjects of an agent. It needs none of JetStream's API: it publishes
// to the subjects of the stream and of the bucket.
func agentMay(agent string) *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			deliverTo + agent, fetchSubject + agent, answerTo + agent + ".>", beatSubject + agent,
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{
			commandTo + agent + ".cmd", commandTo + agent + ".done", commandTo + agent + ".blob", inboxPrefix + agent + ".>",
		}},
	}
}

// joinerMay returns the subjects of the holder of a join token.
func joinerMay(id string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{joinSubject}},
		Subscribe: &server.SubjectPermission{Allow: []string{joinInbox(id) + ".>"}},
	}
}

// joinInbox returns the prefix of the subjects for answers to requests to join.
func joinInbox(id string) string { return "_JOIN." + id }

// remember stores the owner of a connection, and forgets the oldest one beyond remembered.
func (a *admission) remember(connection uint64, who string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.who == nil {
		a.who = map[uint64]string{}
	}
	a.who[connection] = who
	a.seen = append(a.seen, connection)
	if len(a.seen) > remembered {
		delete(a.who, a.seen[0])
		a.seen = a.seen[1:]
	}
}

// owner returns the owner of a connection, as in who, or "" if it is unknown.
func (a *admission) owner(connection uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.who[connection]
}

// connections returns the ids of an owner's connections, in no order; some may be closed
// already.
func (a *admission) connections(who string) (ids []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, w := range a.who {
		if w == who {
			ids = append(ids, id)
		}
	}
	return ids
}
