// Package hdr counts durations so that the percentiles of many machines add up.
//
// A [Histogram] counts int64 values, usually nanoseconds, in ranges of 128 to the octave:
// below 128 each value has its own count; above, a range is at most 1/128 of its values
// wide, so no quantile is off by more than 0.4 %. Count, sum, minimum and maximum are
// exact. A page of 128 counts (1 KiB) exists once its octave is hit.
//
// Record may be called by one goroutine at a time and allocates only on an octave's first
// value. Merge adds counts, so any split of the same recordings has the same quantiles.
//
// The idea is Gil Tene's HdrHistogram (hdrhistogram.org); docs/formats/hdr.md describes the
// encoding.
package hdr

import "math/bits"

const (
	perOctave = 128               // ranges in an octave
	pages     = 63 - 7 + 1        // octaves of an int64, the first holding 0 to 127
	ranges    = pages * perOctave // all ranges
)

type page [perOctave]uint64

// Histogram is a distribution of values of 0 or more. The zero value is empty and ready to
// use. It must not be used by several goroutines at once.
type Histogram struct {
	pages  [pages]*page
	count  uint64
	sumLo  uint64 // the sum is 128 bits wide: a billion waits of 20 s overflow 64
	sumHi  uint64
	minInv int64 // math.MaxInt64 - min, so that the zero value is an empty histogram
	max    int64
}

// locate returns the page, and the index in it, that count v, which is 0 or more.
func locate(v uint64) (pageNo, place uint) {
	e := bits.Len64(v)
	if e < 8 {
		return 0, uint(v)
	}
	return uint(e - 7), uint(v>>(uint(e)-8)) & (perOctave - 1)
}

// bounds returns the least and the greatest value that range i counts.
func bounds(i int) (lo, hi int64) {
	pageNo, place := i/perOctave, i%perOctave
	if pageNo == 0 {
		return int64(place), int64(place)
	}
	e := uint(pageNo - 1)
	lo = int64(perOctave+place) << e
	return lo, lo + 1<<e - 1
}
