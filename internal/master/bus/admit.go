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
	joining    = "join " // and the token's id: who holds a join token
)

// joinTime is how long the holder of a join token may stay connected.
const joinTime = time.Minute

// admission decides who may connect to the embedded server, and to which subjects. What
// is not allowed here is denied. The master connects from within the process, with a secret that is
// drawn at each start.
type admission struct {
	authorize func(key string) (agent string, ok bool)
	invited   func(id string, hash []byte) bool
	refused   func(who, address string)
	secret    string

	mu   sync.Mutex
	who  map[uint64]string // by the server's number of a connection: agent, or joining and id
	seen []uint64          // keys of who, the oldest first
}

// remembered is how many connections admission keeps the owner of. Older ones that
// still live can't be cut by name; a host's limit of open files is far below.
const remembered = 1 << 16

// Check implements server.Authentication.
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
		return c.GetTLSConnectionState() == nil && // all that comes in by the port has it
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

// proven tells whether the owner of a public key has signed the nonce of this connection.
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

// agentMay gives all subjects of an agent. JetStream's own are not among them: its
// publishes go to the stream and the bucket by their subjects.
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

// joinerMay gives the subjects of who holds a join token.
func joinerMay(id string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{joinSubject}},
		Subscribe: &server.SubjectPermission{Allow: []string{joinInbox(id) + ".>"}},
	}
}

// joinInbox is where the answer to a request to join goes.
func joinInbox(id string) string { return "_JOIN." + id }

// remember keeps whose connection this is.
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

// owner gives whose connection it is; empty: not known.
func (a *admission) owner(connection uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.who[connection]
}

// connections gives those of one owner, of which some may be gone.
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
