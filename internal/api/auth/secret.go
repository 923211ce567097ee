package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// prefix begins the text of every API token, so that one that got into a file or a log
// is found there.
const prefix = "gbt_"

// idLength is that of an id that NewID makes.
const idLength = 16

// NewID makes a random id of 80 bits.
func NewID() string { return strings.ToLower(rand.Text()[:idLength]) }

// NewSecret makes a random secret of 256 bits, as text that fits into a cookie or a URL.
func NewSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Hash is what is kept of a secret that is random: a guess at one costs too much for any
// hash to be worth its time. Passwords are another thing.
func Hash(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// Same tells whether two hashes are the same, in a time that does not tell where they
// differ.
func Same(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// TokenText is an API token as its owner keeps it.
func TokenText(id, secret string) string { return prefix + id + "_" + secret }

// ParseToken takes the text of an API token apart.
func ParseToken(text string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || len(rest) != idLength+1+43 || rest[idLength] != '_' {
		return "", "", false
	}
	return rest[:idLength], rest[idLength+1:], true
}
