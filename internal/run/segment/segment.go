// Package segment divides a run among its executors: which users of a class, blocks of {{seq}}
// and rows of data belong to which executor.
//
// A [Segment] is one executor's part of the numbers 0, 1, 2 ... Every executor computes its own
// segment from the weights of all and its own place, without communication. No two segments
// have a number in common, and together they have all numbers.
//
// The numbers come in rounds, in each of which a place has as many numbers as its weight.
// Places of equal weight alternate. Places of different weights are interleaved as evenly as
// possible: each weight is a row of points in [0, 1), evenly spaced and half a space from both
// ends, and a round visits all points in order. (This is the method of Sainte-Laguë and
// Webster; Balinski and Young, "Fair Representation", 1982.) So the numbers below any n are
// divided fairly: with equal weights to within one, otherwise to within about one for every two
// different weights.
package segment

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Limits.
const (
	MaxRound  = 1 << 30 // sum of all weights, divided by their greatest common divisor
	maxPlaces = 100_000
)

// Segment is the part of one executor. It is immutable; the zero value has all numbers.
type Segment struct {
	round       int64   // numbers in a round; 0: the segment has all numbers
	groups      []group // places of equal weight, the heaviest group first
	own         int     // index of this segment's group
	member      int64   // place of this segment in its group
	part, parts int64   // the segment has every parts-th number of its place; parts 0: 1
}

// group holds the places of one weight.
type group struct {
	members int64
	points  int64 // of a round: members times weight
}

// New returns the segment of a place, 0 to places-1. weights are those of all places, 1 or
// more; it is empty if all places weigh the same. The error means that an argument is out of
// range, or that the weights are too different from each other: see MaxRound.
func New(weights []int64, places, place int) (Segment, error) {
	switch {
	case places < 1 || places > maxPlaces || place < 0 || place >= places:
		return Segment{}, fmt.Errorf("place %d of %d: want one of 1 to %d places", place, places, maxPlaces)
	case len(weights) > 0 && len(weights) != places:
		return Segment{}, fmt.Errorf("%d weights of %d places", len(weights), places)
	case places == 1:
		return Segment{}, nil
	case len(weights) == 0:
		return Segment{round: int64(places), groups: []group{{int64(places), int64(places)}}, member: int64(place)}, nil
	}
	divisor := int64(0)
	for i, w := range weights {
		if w < 1 {
			return Segment{}, fmt.Errorf("weight %d of place %d: want 1 or more", w, i)
		}
		divisor = gcd(w, divisor)
	}
	byWeight := map[int64]int64{} // number of places
	s := Segment{}
	for i, w := range weights {
		w /= divisor
		if w > MaxRound || s.round+w > MaxRound {
			return Segment{}, errors.New("the weights are too different from each other: use smaller numbers")
		}
		s.round += w
		if i == place {
			s.member = byWeight[w]
		}
		byWeight[w]++
	}
	var known []int64
	for w := range byWeight {
		known = append(known, w)
	}
	slices.Sort(known)
	slices.Reverse(known)
	for i, w := range known {
		s.groups = append(s.groups, group{byWeight[w], byWeight[w] * w})
		if w == weights[place]/divisor {
			s.own = i
		}
	}
	return s, nil
}

// gcd returns the greatest common divisor; of a number and 0, the number.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Part returns a part of the segment, 0 to parts-1: the numbers at the positions part,
// part+parts, part+2*parts ... of the segment. A part can be divided again, to MaxRound
// parts in all. The error means that an argument is out of range.
func (s Segment) Part(part, parts int) (Segment, error) {
	if parts < 1 || part < 0 || part >= parts {
		return Segment{}, fmt.Errorf("part %d of %d: want one of 1 or more", part, parts)
	}
	before := max(s.parts, 1)
	if before*int64(parts) > MaxRound {
		return Segment{}, fmt.Errorf("a segment in %d parts: at most %d are possible", before*int64(parts), MaxRound)
	}
	s.part += before * int64(part)
	s.parts = before * int64(parts)
	return s, nil
}

// All reports whether the segment has all numbers.
func (s Segment) All() bool { return s.round == 0 && s.parts <= 1 }

// Nth returns number i of the segment, from 0 on. It increases with i. i must not be
// negative.
func (s Segment) Nth(i int64) int64 {
	if s.parts > 1 {
		i = i*s.parts + s.part
	}
	switch len(s.groups) {
	case 0:
		return i
	case 1:
		return i*s.round + s.member
	}
	own := s.groups[s.own]
	e := i*own.members + s.member // of the group's points
	rounds := e / own.points
	e %= own.points
	n := e
	for g, other := range s.groups {
		if g == s.own {
			continue
		}
		// The points f of the other group with (2f+1)/other.points < (2e+1)/own.points
		// come before; so do equal ones if the other group's index is lower.
		reach := (2*e + 1) * other.points
		if g > s.own {
			reach--
		}
		n += (reach/own.points + 1) / 2
	}
	return rounds*s.round + n
}

// Below returns how many numbers of the segment are less than n; 0 if n is negative.
func (s Segment) Below(n int64) int64 {
	if n <= 0 {
		return 0
	}
	if len(s.groups) <= 1 {
		first := s.Nth(0)
		step := s.Nth(1) - first
		return max(0, (n-first+step-1)/step)
	}
	rounds := n/s.round - 1 // the numbers of these rounds are certainly less
	from := int64(0)
	if rounds > 0 {
		from = rounds * (s.groups[s.own].points / s.groups[s.own].members) / max(s.parts, 1)
	}
	most := int64(s.groups[s.own].points/s.groups[s.own].members)*3/max(s.parts, 1) + 2
	return from + int64(sort.Search(int(min(most, n)), func(i int) bool { return s.Nth(from+int64(i)) >= n }))
}
