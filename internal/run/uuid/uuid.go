// Package uuid makes random UUIDs.
package uuid

import (
	"encoding/hex"
	"math/rand/v2"
)

// Append appends a UUID of version 4 (RFC 9562, section 5.4), as its 36 characters. It takes two
// numbers from r.
func Append(b []byte, r *rand.Rand) []byte {
	var raw [16]byte
	high, low := r.Uint64(), r.Uint64()
	for i := range 8 {
		raw[i], raw[8+i] = byte(high>>(8*i)), byte(low>>(8*i))
	}
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	from := 0
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, raw[from:from+n])
		from += n
	}
	return b
}
