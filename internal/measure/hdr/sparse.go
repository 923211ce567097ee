package hdr

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Sparse is a histogram as its encoding lists it: the ranges that hold recordings. Decoding
// a Sparse and adding it to a Histogram takes a tenth of the time that decoding a second
// Histogram does. The zero value is empty and ready to use. It must not be used by several
// goroutines at once.
type Sparse struct {
	at           []uint16 // ranges, ascending
	counts       []uint64 // of the ranges in at
	count        uint64
	sumLo, sumHi uint64
	min, max     int64
}

// Count is the number of recordings.
func (s *Sparse) Count() uint64 { return s.count }

// Sum returns the sum of all recordings.
func (s *Sparse) Sum() float64 { return float64(s.sumHi)*(1<<64) + float64(s.sumLo) }

// Max is the greatest recording, exactly; 0 if s is empty.
func (s *Sparse) Max() int64 { return s.max }

// Decode replaces s by the histogram that b encodes. It refuses the same bytes as
// Histogram.Decode: the error then wraps errCodec and s is empty.
func (s *Sparse) Decode(b []byte) error {
	s.clear()
	if err := s.decode(b); err != nil {
		s.clear()
		return fmt.Errorf("%w: %w", errCodec, err)
	}
	return nil
}

func (s *Sparse) clear() { *s = Sparse{at: s.at[:0], counts: s.counts[:0]} }

// decode implements Decode; s must be empty. After an error s has part of the histogram.
func (s *Sparse) decode(b []byte) error {
	if len(b) == 0 || b[0] != version {
		return fmt.Errorf("want first byte %d (the version)", version)
	}
	d := decoder{b: b[1:]}
	if len(d.b) == 0 {
		return nil
	}
	least, greatest := d.number(math.MaxInt64), d.number(math.MaxInt64)
	s.sumHi, s.sumLo = d.number(math.MaxUint64), d.number(math.MaxUint64)
	var loSum, hiSum wide
	at, places, counts, all := -1, s.at, s.counts, uint64(0) // local variables: fields of s take twice as long
	for len(d.b) > 0 && d.err == nil {
		var gap, count uint64
		if len(d.b) > 1 && d.b[0]|d.b[1] < 0x80 { // most are a single byte
			gap, count, d.b = uint64(d.b[0]), uint64(d.b[1]), d.b[2:]
		} else if gap, count = d.number(ranges), d.number(math.MaxUint64); d.err != nil {
			break
		}
		if at += 1 + int(gap); at >= ranges {
			return fmt.Errorf("range %d is above the last, %d", at, ranges-1)
		}
		if count == 0 {
			return fmt.Errorf("range %d is empty", at)
		}
		places, counts = append(places, uint16(at)), append(counts, count)
		var carry uint64
		if all, carry = bits.Add64(all, count, 0); carry > 0 {
			return errors.New("counts overflow")
		}
		lo, hi := bounds(at)
		loSum.addMul(uint64(lo), count)
		hiSum.addMul(uint64(hi), count)
	}
	s.at, s.counts, s.count = places, counts, all
	switch sum := (wide{s.sumHi, s.sumLo}); {
	case d.err != nil:
		return d.err
	case len(s.at) == 0:
		return errors.New("no counts")
	case !inRange(int64(least), int(s.at[0])) || !inRange(int64(greatest), at) || least > greatest:
		return errors.New("minimum or maximum outside its range")
	case s.count == 1 && least != greatest:
		return errors.New("one recording, but minimum and maximum differ")
	case sum.less(loSum) || hiSum.less(sum):
		return errors.New("sum outside what the counts allow")
	}
	s.min, s.max = int64(least), int64(greatest)
	return nil
}

// Add adds all of s's recordings to h, as Histogram.Merge does.
func (h *Histogram) Add(s *Sparse) {
	if s.count == 0 {
		return
	}
	for i, at := range s.at {
		p := h.pages[at/perOctave]
		if p == nil {
			p = h.open(uint(at / perOctave))
		}
		p[at%perOctave] += s.counts[i]
	}
	h.count += s.count
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, s.sumLo, 0)
	h.sumHi += s.sumHi + carry
	h.minInv = max(h.minInv, math.MaxInt64-s.min)
	h.max = max(h.max, s.max)
}
