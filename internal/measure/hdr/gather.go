package hdr

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// Gather replaces o, which must not be s, by a histogram of s's recordings with fewer
// ranges. The recordings of each width adjacent ranges, width being a power of 2 up to 128,
// move to the one that holds their mean, or to two next to each other. The first and the
// last range stay as they are, and so do count, sum, minimum, maximum and values below 128.
// Groups with more than one in share (1 or more) of the recordings are not gathered: where
// values lie close together, ranges stay. A quantile moves by less than width ranges: by no
// more than 100*width/128 percent.
//
// The idea that a mean replaces many values is from the t-digest (Dunning,
// arXiv:1902.04023).
func (s *Sparse) Gather(o *Sparse, width int, share uint64) {
	if s.count > math.MaxUint64/perOctave { // offsets below could overflow
		width = 1
	}
	s.gather(o, width, share, false)
	if loSum, hiSum := o.sums(); (wide{o.sumHi, o.sumLo}).less(loSum) || hiSum.less(wide{o.sumHi, o.sumLo}) {
		s.gather(o, width, share, true) // few groups with many recordings
	}
}

// gather implements Gather. A mean usually lies between two ranges: the rounding error of
// one group is corrected in the next, or, with pairs, a group uses two ranges, which
// represent its mean exactly.
func (s *Sparse) gather(o *Sparse, width int, share uint64, pairs bool) {
	o.clear()
	o.count, o.sumLo, o.sumHi, o.min, o.max = s.count, s.sumLo, s.sumHi, s.min, s.max
	last, most, owed := len(s.at)-1, s.count/share, 0.0
	for i := 0; i <= last; {
		first, count, offsets, end := int(s.at[i]), s.counts[i], uint64(0), i+1
		for first >= perOctave && i > 0 && end < last && int(s.at[end])/width == first/width && count+s.counts[end] <= most {
			count += s.counts[end]
			offsets += s.counts[end] * uint64(int(s.at[end])-first)
			end++
		}
		if pairs {
			at, above := first+int(offsets/count), offsets%count
			o.put(at, count-above)
			o.put(at+1, above)
		} else {
			lo, hi := bounds(first)
			size := float64(hi-lo) + 1
			sum := float64(offsets)*size + owed
			at := min(max(int(math.Round(sum/size/float64(count))), 0), int(s.at[end-1])-first)
			owed = sum - float64(at)*size*float64(count)
			o.put(first+at, count)
		}
		i = end
	}
}

// sums returns the least and the greatest sum that the counts can have.
func (s *Sparse) sums() (least, greatest wide) {
	for i, at := range s.at {
		lo, hi := bounds(int(at))
		least.addMul(uint64(lo), s.counts[i])
		greatest.addMul(uint64(hi), s.counts[i])
	}
	return least, greatest
}

// put adds counts to a range that is not below the last one of s; a count of 0 adds no
// range. It does not change s.count.
func (s *Sparse) put(at int, count uint64) {
	switch last := len(s.at) - 1; {
	case count == 0:
	case last >= 0 && int(s.at[last]) == at:
		s.counts[last] += count
	default:
		s.at, s.counts = append(s.at, uint16(at)), append(s.counts, count)
	}
}

// Append appends s's encoding to b, as Histogram.Append does.
func (s *Sparse) Append(b []byte) []byte {
	b = append(b, version)
	if s.count == 0 {
		return b
	}
	b = appendHead(b, s.min, s.max, s.sumHi, s.sumLo)
	next := 0
	for i, at := range s.at {
		b = binary.AppendUvarint(b, uint64(int(at)-next))
		b = binary.AppendUvarint(b, s.counts[i])
		next = int(at) + 1
	}
	return b
}

// errOther is the error of Replaceable: the two are not of the same recordings.
var errOther = errors.New("the histograms are not of the same recordings")

// Replaceable returns nil if h has all of old's counts, and old and exact can be the same
// recordings: else errOther, or another error if h lacks some of old.
func (h *Histogram) Replaceable(old, exact *Sparse) error {
	if old.count != exact.count || old.sumLo != exact.sumLo || old.sumHi != exact.sumHi || old.min != exact.min || old.max != exact.max {
		return errOther
	}
	for i, at := range old.at {
		if p := h.pages[at/perOctave]; p == nil || p[at%perOctave] < old.counts[i] {
			return errors.New("the histogram does not have what is to be replaced")
		}
	}
	return nil
}

// Replace subtracts old's counts from h and adds those of exact: h is then as if exact had
// been added instead of old. The caller must have checked them with Replaceable.
func (h *Histogram) Replace(old, exact *Sparse) {
	for i, at := range old.at {
		h.pages[at/perOctave][at%perOctave] -= old.counts[i]
	}
	h.count -= old.count
	var borrow uint64
	h.sumLo, borrow = bits.Sub64(h.sumLo, old.sumLo, 0)
	h.sumHi -= old.sumHi + borrow
	h.Add(exact)
}

// Same reports whether both list the same counts in the same ranges.
func (s *Sparse) Same(o *Sparse) bool {
	return slices.Equal(s.at, o.at) && slices.Equal(s.counts, o.counts)
}
