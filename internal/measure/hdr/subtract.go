package hdr

import (
	"math"
	"math/bits"
)

// Subtract removes o's recordings from h, which usually has all of them; of a range in which h has
// fewer, it removes those. Count is exact, and so is the sum if h had all of o; minimum and maximum
// are at most off by the width of a range.
func (h *Histogram) Subtract(o *Histogram) {
	lacks := false
	for n, from := range o.pages {
		if from == nil {
			continue
		}
		of := h.pages[n]
		for i, c := range from {
			switch {
			case c == 0:
			case of == nil || of[i] < c:
				lacks = true
				if of != nil {
					h.count -= of[i]
					of[i] = 0
				}
			default:
				of[i] -= c
				h.count -= c
			}
		}
	}
	if h.count == 0 {
		h.sumLo, h.sumHi, h.minInv, h.max = 0, 0, 0, 0
		return
	}
	var borrow uint64
	if h.sumLo, borrow = bits.Sub64(h.sumLo, o.sumLo, 0); !lacks {
		h.sumHi, _ = bits.Sub64(h.sumHi, o.sumHi, borrow)
	}
	var sum wide
	least, greatest, first := int64(0), int64(0), true
	h.Each(func(lo, hi int64, c uint64) {
		if first {
			least, first = lo, false
		}
		greatest = hi
		if lacks {
			sum.addMul(uint64(lo+(hi-lo)/2), c)
		}
	})
	if lacks {
		h.sumHi, h.sumLo = sum.hi, sum.lo
	}
	h.minInv = math.MaxInt64 - max(least, h.Min())
	h.max = min(greatest, h.max)
}
