package hdr

import "math"

// Count is the number of recordings.
func (h *Histogram) Count() uint64 { return h.count }

// Min returns the least recording, exactly; 0 if h is empty.
func (h *Histogram) Min() int64 {
	if h.count == 0 {
		return 0
	}
	return math.MaxInt64 - h.minInv
}

// Max is the greatest recording, exactly; 0 if h is empty.
func (h *Histogram) Max() int64 { return h.max }

// Sum is the sum of all recordings as hi<<64 + lo, exactly.
func (h *Histogram) Sum() (hi, lo uint64) { return h.sumHi, h.sumLo }

// Mean returns the sum divided by the count; 0 if h is empty.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return (float64(h.sumHi)*(1<<64) + float64(h.sumLo)) / float64(h.count)
}

// StdDev returns the standard deviation of the population, with each recording at the
// middle of its range; 0 if h is empty.
func (h *Histogram) StdDev() float64 {
	if h.count == 0 {
		return 0
	}
	mean, squares := h.Mean(), 0.0
	h.Each(func(lo, hi int64, n uint64) {
		d := mid(lo, hi) - mean
		squares += d * d * float64(n)
	})
	return math.Sqrt(squares / float64(h.count))
}

// Quantile returns the recording of rank ceil(q x count) in sorted order, off by at most
// 0.4 %: the share q of the recordings is not above it. q is limited to 0 to 1; Quantile(0)
// is Min and Quantile(1) is Max, both exact. It returns 0 if h is empty.
func (h *Histogram) Quantile(q float64) int64 { return h.QuantileAmong(q, 0) }

// QuantileAmong is Quantile among the recordings and beyond values that are greater than all of
// them and were not recorded: of rank ceil(q x (count + beyond)). It returns Max if that rank is
// one of theirs.
func (h *Histogram) QuantileAmong(q float64, beyond int64) int64 {
	if h.count == 0 {
		return 0
	}
	if !(q > 0) { // also NaN
		return h.Min()
	}
	rank := uint64(math.Ceil(q * float64(h.count+uint64(max(beyond, 0)))))
	if q >= 1 || rank >= h.count {
		return h.max
	}
	rank = max(rank, 1)
	var seen uint64
	for n, p := range h.pages {
		if p == nil {
			continue
		}
		for i, c := range p {
			if seen += c; seen >= rank {
				lo, hi := bounds(n*perOctave + i)
				return min(max(lo+(hi-lo)/2, h.Min()), h.max)
			}
		}
	}
	return h.max
}

// Above returns how many recordings are certainly greater than v: those whose range begins
// above v. It is exact if v ends a range, else too low by at most the count of one range.
func (h *Histogram) Above(v int64) uint64 {
	var n uint64
	h.Each(func(lo, _ int64, c uint64) {
		if lo > v {
			n += c
		}
	})
	return n
}

// Within returns the share of recordings from lo to hi, 0 to 1, with each recording at the
// middle of its range; 0 if h is empty.
func (h *Histogram) Within(lo, hi float64) float64 {
	if h.count == 0 {
		return 0
	}
	var n uint64
	h.Each(func(l, u int64, c uint64) {
		if m := mid(l, u); m >= lo && m <= hi {
			n += c
		}
	})
	return float64(n) / float64(h.count)
}

// Each calls f for every range that holds recordings, in ascending order, with the least
// and greatest value of the range and its count.
func (h *Histogram) Each(f func(lo, hi int64, n uint64)) {
	for n, p := range h.pages {
		if p == nil {
			continue
		}
		for i, c := range p {
			if c > 0 {
				lo, hi := bounds(n*perOctave + i)
				f(lo, hi, c)
			}
		}
	}
}

func mid(lo, hi int64) float64 { return float64(lo) + float64(hi-lo)/2 }
