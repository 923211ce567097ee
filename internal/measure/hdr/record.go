package hdr

import (
	"math"
	"math/bits"
)

// Record counts v, which must be 0 or more; a negative v is counted as 0.
func (h *Histogram) Record(v int64) {
	if v < 0 {
		v = 0
	}
	u := uint64(v)
	pageNo, place := locate(u)
	p := h.pages[pageNo]
	if p == nil {
		p = h.open(pageNo)
	}
	p[place]++
	h.count++
	lo, carry := bits.Add64(h.sumLo, u, 0)
	h.sumLo = lo
	h.sumHi += carry
	if inv := math.MaxInt64 - v; inv > h.minInv {
		h.minInv = inv
	}
	if v > h.max {
		h.max = v
	}
}

// open allocates an octave's page, which must not exist yet, and returns it. It is a function
// of its own so that Record's frame is small.
//
//go:noinline
func (h *Histogram) open(pageNo uint) *page {
	p := new(page)
	h.pages[pageNo] = p
	return p
}
