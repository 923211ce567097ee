package bus

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Headers of signed messages. A session is a random word of the agent for its present
// process, and numbers count the commands of a session. So replays are detected by their
// number, without a clock.
const (
	sessionHeader   = "Gobench-Session"
	numberHeader    = "Gobench-Number"
	signatureHeader = "Gobench-Signature"
	challengeHeader = "Gobench-Challenge" // of an agent's answer: the session to sign for
	highHeader      = "Gobench-High"      // beside it: the highest number so far
)

// signed returns the bytes that a message's signature covers: with subject, session and
// number, so that a signature is not valid for another.
func signed(m *nats.Msg) []byte {
	b := fmt.Appendf(nil, "gobench 1\n%s\n%s\n%s\n", m.Subject, m.Header.Get(sessionHeader), m.Header.Get(numberHeader))
	return append(b, m.Data...)
}

// sign sets the signature header of m, which must have its subject, headers and data already.
func sign(m *nats.Msg, key nkeys.KeyPair) error {
	sig, err := key.Sign(signed(m))
	if err != nil {
		return err
	}
	m.Header.Set(signatureHeader, base64.RawURLEncoding.EncodeToString(sig))
	return nil
}

// signingKey is a key pair that signs fast: that of nkeys derives its private key again for
// each signature, which doubles the time.
type signingKey struct {
	nkeys.KeyPair
	private ed25519.PrivateKey
}

// newSigningKey returns the key pair of a seed from NewSeed.
func newSigningKey(seed []byte) (*signingKey, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, err
	}
	_, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		return nil, err
	}
	return &signingKey{pair, ed25519.NewKeyFromSeed(raw)}, nil
}

// Sign signs b like the key pair.
func (k *signingKey) Sign(b []byte) ([]byte, error) { return ed25519.Sign(k.private, b), nil }

// errSignature means that a message has no signature of the agent's master.
var errSignature = errors.New("not signed by the master that this agent has joined")

// verify returns errSignature unless the message has a valid signature by the owner of key.
func verify(m *nats.Msg, key nkeys.KeyPair) error {
	sig, err := base64.RawURLEncoding.DecodeString(m.Header.Get(signatureHeader))
	if err != nil || key.Verify(signed(m), sig) != nil {
		return errSignature
	}
	return nil
}

// number returns the number in a header, or 0 if it is missing or not a number.
func number(m *nats.Msg, header string) uint64 {
	n, _ := strconv.ParseUint(m.Header.Get(header), 10, 64)
	return n
}

// NewSeed returns the seed of a new key pair, as text (SU...), for a master to sign commands
// or for an agent to authenticate. It is a secret, and the caller stores it.
func NewSeed() ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return pair.Seed()
}

// PublicKey returns the public nkey (U...) of a seed from NewSeed.
func PublicKey(seed []byte) (string, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}
