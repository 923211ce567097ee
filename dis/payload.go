package dis

import (
	"encoding/binary"
	"math/rand/v2"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// RandomString returns n random ASCII letters and digits, each of the 62
// equally likely. It is a payload, not a secret. n below 1 returns "".
func RandomString(n int) string {
	if n <= 0 {
		return ""
	}
	b := make([]byte, 0, n)
	for {
		// Ten groups of six bits. The two of 64 values without a letter are skipped, which
		// keeps the others equally likely.
		for bits, i := rand.Uint64(), 0; i < 10; bits, i = bits>>6, i+1 {
			if k := bits & 63; k < uint64(len(alphabet)) {
				if b = append(b, alphabet[k]); len(b) == n {
					return string(b)
				}
			}
		}
	}
}

// RandomByte returns n random bytes, for payloads that must not compress. They are not suitable
// as secrets. n below 1 returns an empty slice.
func RandomByte(n int) []byte {
	b := make([]byte, max(n, 0))
	rest := b
	for len(rest) >= 8 {
		binary.NativeEndian.PutUint64(rest, rand.Uint64())
		rest = rest[8:]
	}
	for bits, i := rand.Uint64(), 0; i < len(rest); i++ {
		rest[i] = byte(bits >> (8 * i))
	}
	return b
}
