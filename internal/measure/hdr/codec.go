package hdr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
)

// version is the first byte of an encoded histogram.
const version = 1

// errCodec is wrapped by Decode's errors: the bytes are not an encoded histogram.
var errCodec = errors.New("not an encoded histogram")

// Append appends h's encoding to b and returns the extended slice. Equal histograms have
// equal encodings; docs/formats/hdr.md describes the bytes. A second of 10,000 latencies
// takes about 1.3 KB.
func (h *Histogram) Append(b []byte) []byte {
	b = append(b, version)
	if h.count == 0 {
		return b
	}
	b = appendHead(b, h.Min(), h.max, h.sumHi, h.sumLo)
	next := 0
	for n, p := range h.pages {
		if p == nil {
			continue
		}
		for i, c := range p {
			if c > 0 {
				at := n*perOctave + i
				b = binary.AppendUvarint(b, uint64(at-next))
				b = binary.AppendUvarint(b, c)
				next = at + 1
			}
		}
	}
	return b
}

// appendHead appends the least and the greatest recording and the sum, as Append encodes
// them.
func appendHead(b []byte, least, greatest int64, sumHi, sumLo uint64) []byte {
	b = binary.AppendUvarint(b, uint64(least))
	b = binary.AppendUvarint(b, uint64(greatest))
	b = binary.AppendUvarint(b, sumHi)
	return binary.AppendUvarint(b, sumLo)
}

// Decode replaces h by the histogram that b encodes. It refuses bytes that Append could not
// have written: counts that overflow, a sum outside what the ranges allow, a minimum or
// maximum outside the first or last range, numbers not in their shortest form. The error
// then wraps errCodec and h is empty.
func (h *Histogram) Decode(b []byte) error {
	h.Reset()
	s := sparses.Get().(*Sparse)
	defer sparses.Put(s)
	if err := s.Decode(b); err != nil {
		return err
	}
	h.Add(s)
	return nil
}

// sparses holds the Sparse values that Decode reuses.
var sparses = sync.Pool{New: func() any { return new(Sparse) }}

func inRange(v int64, i int) bool {
	lo, hi := bounds(i)
	return lo <= v && v <= hi
}

// decoder reads numbers from b; it keeps the first error.
type decoder struct {
	b   []byte
	err error
}

// number reads a number of at most limit. It returns 0 after an error, which d.err then
// has.
func (d *decoder) number(limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	switch {
	case n <= 0:
		d.err = errors.New("a number is cut short or too long")
	case n > 1 && d.b[n-1] == 0:
		d.err = errors.New("a number is not in its shortest form")
	case v > limit:
		d.err = fmt.Errorf("%d is above %d", v, limit)
	default:
		d.b = d.b[n:]
		return v
	}
	return 0
}

// wide is an unsigned 128-bit number.
type wide struct{ hi, lo uint64 }

// addMul adds a*b to w, modulo 2^128.
func (w *wide) addMul(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) less(o wide) bool { return w.hi < o.hi || w.hi == o.hi && w.lo < o.lo }
