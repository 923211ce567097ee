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

// Headers of what the master signs. The session is the agent's word for "me, since I
// connected the bus", and a command's number counts the commands of a session. So an old command is known
// by its number, not by anybody's clock.
const (
	sessionHeader   = "Gobench-Session"
	numberHeader    = "Gobench-Number"
	signatureHeader = "Gobench-Signature"
	challengeHeader = "Gobench-Challenge" // of an agent's answer: the session to sign for
	highHeader      = "Gobench-High"      // beside it: the highest number so far
)

// signed is what the signature of a message covers: nothing that is signed for one subject,
// session or number is good for another.
func signed(m *nats.Msg) []byte {
	b := fmt.Appendf(nil, "gobench 1\n%s\n%s\n%s\n", m.Subject, m.Header.Get(sessionHeader), m.Header.Get(numberHeader))
	return append(b, m.Data...)
}

// sign adds the master's signature.
func sign(m *nats.Msg, key nkeys.KeyPair) error {
	sig, err := key.Sign(signed(m))
	if err != nil {
		return err
	}
	m.Header.Set(signatureHeader, base64.RawURLEncoding.EncodeToString(sig))
	return nil
}

// signingKey is a key pair that signs often: nkeys' own makes its private key anew for
// each signature, which doubles the time.
type signingKey struct {
	nkeys.KeyPair
	private ed25519.PrivateKey
}

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

// Sign signs as the pair does.
func (k *signingKey) Sign(b []byte) ([]byte, error) { return ed25519.Sign(k.private, b), nil }

// errSignature is the answer to what somebody else has signed.
var errSignature = errors.New("not signed by the master that this agent has joined")

// verify checks the signature of a message.
func verify(m *nats.Msg, key nkeys.KeyPair) error {
	sig, err := base64.RawURLEncoding.DecodeString(m.Header.Get(signatureHeader))
	if err != nil || key.Verify(signed(m), sig) != nil {
		return errSignature
	}
	return nil
}

// number reads a header that counts.
func number(m *nats.Msg, header string) uint64 {
	n, _ := strconv.ParseUint(m.Header.Get(header), 10, 64) // none: 0
	return n
}

// NewSeed makes the seed of a key pair, by which a master signs and an agent proves itself.
func NewSeed() ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return pair.Seed()
}

// PublicKey gives the public nkey of a seed.
func PublicKey(seed []byte) (string, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}
