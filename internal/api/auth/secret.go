package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// prefix begins the text of every API token, so that scanners find leaked ones.
const prefix = "gbt_"

// idLength is the length of an id that NewID returns.
const idLength = 16

// NewID returns a random id of 80 bits: 16 lower-case letters and digits.
func NewID() string { return strings.ToLower(rand.Text()[:idLength]) }

// NewSecret returns a random secret of 256 bits, as text for a cookie or a URL.
func NewSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Hash returns the hash that is stored for a random secret. A fast hash is enough, because
// 256 random bits cannot be guessed; passwords need a slow one.
func Hash(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// Same reports whether two hashes are equal, in constant time.
func Same(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// TokenText returns the text of an API token, which its owner stores.
func TokenText(id, secret string) string { return prefix + id + "_" + secret }

// ParseToken splits the text of an API token. ok is false, and the others are empty, if it
// does not have that form. It does not check whether the token exists.
func ParseToken(text string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || len(rest) != idLength+1+43 || rest[idLength] != '_' {
		return "", "", false
	}
	return rest[:idLength], rest[idLength+1:], true
}
