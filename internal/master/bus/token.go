package bus

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// tokenPrefix is the prefix of a join token's text, recognizable for people and for scanners
// that search for secrets.
const tokenPrefix = "gobench-join_"

// Token is a join token: the master's addresses, how to verify it, and a secret with which
// one agent can join.
type Token struct {
	Addresses []string // host:port of the embedded server, or URLs of a NATS cluster
	Pin       [32]byte // SHA-256 of the certificate authority; zero: CA
	CA        []byte   // authorities of a NATS cluster, from ReadAuthorities; nil: the system's
	ID        string
	Secret    string // text of 130 random bits
}

// tokenText is the JSON form of a token.
type tokenText struct {
	Addresses []string `json:"a"`
	Pin       []byte   `json:"p,omitempty"`
	CA        []byte   `json:"c,omitempty"`
	ID        string   `json:"i"`
	Secret    string   `json:"s"`
}

// NewToken returns a token with a random id and secret, and CA nil. It is not stored anywhere.
// The token shares addresses.
func NewToken(addresses []string, pin [32]byte) Token {
	return Token{Addresses: addresses, Pin: pin, ID: strings.ToLower(rand.Text()[:10]), Secret: rand.Text()}
}

// Hash returns HashSecret of the secret, which the master stores instead of it.
func (t Token) Hash() []byte { return HashSecret(t.Secret) }

// HashSecret returns the SHA-256 of a token's secret. A secret of 130 random bits needs no
// slow hash function.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// String returns the token's text, with the secret: "gobench-join_" and base64url.
func (t Token) String() string {
	text := tokenText{Addresses: t.Addresses, CA: t.CA, ID: t.ID, Secret: t.Secret}
	if t.Pin != [32]byte{} {
		text.Pin = t.Pin[:]
	}
	b, _ := json.Marshal(text) // strings and bytes have no errors
	sum := sha256.Sum256(b)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(sum[:4:4], b...))
}

// errToken means that a text is no join token. It does not repeat the text, which may
// contain a secret.
var errToken = errors.New("this is not a whole join token: copy all of what the master printed, gobench-join_ and what follows")

// ParseToken parses what String returned; white space around it is ignored. The error is
// errToken, which does not repeat the text, if it is not a whole token, and otherwise about an
// address.
func ParseToken(s string) (Token, error) {
	s, ok := strings.CutPrefix(strings.TrimSpace(s), tokenPrefix)
	if !ok {
		return Token{}, errToken
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 4 {
		return Token{}, errToken
	}
	sum := sha256.Sum256(b[4:])
	if !bytes.Equal(sum[:4], b[:4]) {
		return Token{}, errToken
	}
	var text tokenText
	if err := json.Unmarshal(b[4:], &text); err != nil {
		return Token{}, errToken
	}
	t := Token{Addresses: text.Addresses, CA: text.CA, ID: text.ID, Secret: text.Secret}
	switch len(text.Pin) {
	case 0:
	case len(t.Pin):
		copy(t.Pin[:], text.Pin)
	default:
		return Token{}, errToken
	}
	if _, err := x509.ParseCertificates(t.CA); err != nil {
		return Token{}, errToken
	}
	if len(t.Addresses) == 0 || !validID(t.ID) || t.Secret == "" {
		return Token{}, errToken
	}
	for _, a := range t.Addresses {
		if err := checkAddress(a); err != nil {
			return Token{}, err
		}
	}
	return t, nil
}

// checkAddress returns an error unless an address of a bus is HOST:PORT or a nats, tls, ws or
// wss URL.
func checkAddress(a string) error {
	if u, err := url.Parse(a); err == nil && u.Host != "" {
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
			return nil
		}
		return fmt.Errorf("address of the bus %q: want nats://, tls://, ws:// or wss://, or HOST:PORT", a)
	}
	if _, _, err := net.SplitHostPort(a); err != nil {
		return fmt.Errorf("address of the bus %q: want HOST:PORT", a)
	}
	return nil
}
