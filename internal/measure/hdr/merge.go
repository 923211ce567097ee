package hdr

import "math/bits"

// Merge adds all of o's recordings to h. It is commutative and associative: the
// result depends only on what was recorded, not on where or in what order.
func (h *Histogram) Merge(o *Histogram) {
	if o.count == 0 {
		return
	}
	for n, from := range o.pages {
		if from == nil {
			continue
		}
		to := h.pages[n]
		if to == nil {
			to = h.open(uint(n))
		}
		for i, c := range from {
			to[i] += c
		}
	}
	h.count += o.count
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, o.sumLo, 0)
	h.sumHi += o.sumHi + carry
	h.minInv = max(h.minInv, o.minInv)
	h.max = max(h.max, o.max)
}

// Reset empties h but keeps its pages allocated, so that recording the same range of values
// again allocates nothing.
func (h *Histogram) Reset() {
	if h.count > 0 {
		h.clear()
	}
}

// clear implements Reset.
func (h *Histogram) clear() {
	for _, p := range h.pages {
		if p != nil {
			*p = page{}
		}
	}
	h.count, h.sumLo, h.sumHi, h.minInv, h.max = 0, 0, 0, 0, 0
}

// Equal reports whether h and o hold the same counts, sum, minimum and maximum.
func (h *Histogram) Equal(o *Histogram) bool {
	if h.count != o.count || h.sumLo != o.sumLo || h.sumHi != o.sumHi || h.minInv != o.minInv || h.max != o.max {
		return false
	}
	for n := range h.pages {
		a, b := h.pages[n], o.pages[n]
		switch {
		case a == nil && b == nil:
		case a == nil && *b != page{}, b == nil && *a != page{}:
			return false
		case a != nil && b != nil && *a != *b:
			return false
		}
	}
	return true
}
