package hdr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// version is the first byte of an encoded histogram.
const version = 1

// ErrCodec is what Decode's errors wrap: the bytes are not an encoded histogram.
var ErrCodec = errors.New("not an encoded histogram")

// Append appends h's encoding to b. Equal histograms have equal encodings, and an
// encoding has one form: docs/formats/hdr.md describes its bytes. A second of
// 10,000 latencies takes about 1.3 KB.
func (h *Histogram) Append(b []byte) []byte {
	b = append(b, version)
	if h.count == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(h.Min()))
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.AppendUvarint(b, h.sumHi)
	b = binary.AppendUvarint(b, h.sumLo)
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

// Decode replaces h by the histogram that b encodes. It refuses bytes that Append
// could not have written (an error that wraps ErrCodec, h then empty): counts
// that overflow, a sum outside what the ranges allow, a minimum or maximum
// outside the first or last range, numbers not in their shortest form.
func (h *Histogram) Decode(b []byte) error {
	h.Reset()
	if err := h.decode(b); err != nil {
		h.clear()
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return nil
}

func (h *Histogram) decode(b []byte) error {
	if len(b) == 0 || b[0] != version {
		return fmt.Errorf("want first byte %d (the version)", version)
	}
	d := decoder{b: b[1:]}
	if len(d.b) == 0 {
		return nil
	}
	least, greatest := d.number(math.MaxInt64), d.number(math.MaxInt64)
	sumHi, sumLo := d.number(math.MaxUint64), d.number(math.MaxUint64)
	var loSum, hiSum wide
	first, last, at := -1, -1, -1
	for len(d.b) > 0 && d.err == nil {
		gap, count := d.number(ranges), d.number(math.MaxUint64)
		if d.err != nil {
			break
		}
		if at += 1 + int(gap); at >= ranges {
			return fmt.Errorf("range %d is above the last, %d", at, ranges-1)
		}
		if count == 0 {
			return fmt.Errorf("range %d is empty", at)
		}
		if first < 0 {
			first = at
		}
		last = at
		pageNo := uint(at / perOctave)
		p := h.pages[pageNo]
		if p == nil {
			p = h.open(pageNo)
		}
		p[at%perOctave] = count
		var carry uint64
		if h.count, carry = bits.Add64(h.count, count, 0); carry > 0 {
			return errors.New("counts overflow")
		}
		lo, hi := bounds(at)
		loSum.addMul(uint64(lo), count)
		hiSum.addMul(uint64(hi), count)
	}
	switch sum := (wide{sumHi, sumLo}); {
	case d.err != nil:
		return d.err
	case first < 0:
		return errors.New("no counts")
	case !inRange(int64(least), first) || !inRange(int64(greatest), last) || least > greatest:
		return errors.New("minimum or maximum outside its range")
	case h.count == 1 && least != greatest:
		return errors.New("one recording, but minimum and maximum differ")
	case sum.less(loSum) || hiSum.less(sum):
		return errors.New("sum outside what the counts allow")
	}
	h.minInv, h.max = math.MaxInt64-int64(least), int64(greatest)
	h.sumHi, h.sumLo = sumHi, sumLo
	return nil
}

func inRange(v int64, i int) bool {
	lo, hi := bounds(i)
	return lo <= v && v <= hi
}

// decoder takes numbers off b; the first error stays.
type decoder struct {
	b   []byte
	err error
}

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

// wide is an unsigned number of 128 bits.
type wide struct{ hi, lo uint64 }

func (w *wide) addMul(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) less(o wide) bool { return w.hi < o.hi || w.hi == o.hi && w.lo < o.lo }
