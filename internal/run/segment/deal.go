// Package segment gives numbers 0, 1, 2 ... out to the executors of a run in turn, as cards
// are: users of a class, blocks of {{seq}}, rows of data. Who has which number is
// arithmetic that every executor does by itself, so no two have the same one, none is
// left out, and nobody needs to ask.
//
// A place has as many numbers of each round as its weight. Places of the same weight
// take turns; those of different weights are laid into each other as evenly as can be:
// each weight is a row of points in [0, 1), spaced evenly and half a space from its ends,
// and a round goes through all points in order. (That is the method of Sainte-Laguë and
// Webster; Balinski and Young, "Fair Representation", 1982.) The first numbers up to any
// n are therefore shared out fairly for every n: with equal weights to less than one,
// else to about one for every two different weights.
package segment

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Limits.
const (
	MaxRound  = 1 << 30 // sum of all weights, without a common divisor
	MaxPlaces = 100_000
)

// Hand is what one executor has. It does not change; the zero value has all numbers.
type Hand struct {
	round       int64   // numbers in a round; 0: all are this hand's
	groups      []group // of places of one weight, the heaviest first
	own         int     // group of this hand
	member      int64   // number of this hand's place in its group
	part, parts int64   // of the place's numbers, every parts-th is this hand's; parts 0: 1
}

// group are the places of one weight.
type group struct {
	members int64
	points  int64 // of a round: members times weight
}

// New gives the hand of a place among places. Weights are those of all places, or none
// when all weigh the same.
func New(weights []int64, places, place int) (Hand, error) {
	switch {
	case places < 1 || places > MaxPlaces || place < 0 || place >= places:
		return Hand{}, fmt.Errorf("place %d of %d: want one of 1 to %d places", place, places, MaxPlaces)
	case len(weights) > 0 && len(weights) != places:
		return Hand{}, fmt.Errorf("%d weights of %d places", len(weights), places)
	case places == 1:
		return Hand{}, nil
	case len(weights) == 0:
		return Hand{round: int64(places), groups: []group{{int64(places), int64(places)}}, member: int64(place)}, nil
	}
	divisor := int64(0)
	for i, w := range weights {
		if w < 1 {
			return Hand{}, fmt.Errorf("weight %d of place %d: want 1 or more", w, i)
		}
		divisor = gcd(w, divisor)
	}
	byWeight := map[int64]int64{} // how many there are
	h := Hand{}
	for i, w := range weights {
		w /= divisor
		if w > MaxRound || h.round+w > MaxRound {
			return Hand{}, errors.New("the weights are too different from each other: use smaller numbers")
		}
		h.round += w
		if i == place {
			h.member = byWeight[w]
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
		h.groups = append(h.groups, group{byWeight[w], byWeight[w] * w})
		if w == weights[place]/divisor {
			h.own = i
		}
	}
	return h, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Part gives a part of a hand: of its numbers those in the places part, part+parts,
// part+2*parts ... of their order. A part may be parted again.
func (h Hand) Part(part, parts int) (Hand, error) {
	if parts < 1 || part < 0 || part >= parts {
		return Hand{}, fmt.Errorf("part %d of %d: want one of 1 or more", part, parts)
	}
	before := max(h.parts, 1)
	if before*int64(parts) > MaxRound {
		return Hand{}, fmt.Errorf("a hand in %d parts: at most %d are possible", before*int64(parts), MaxRound)
	}
	h.part += before * int64(part)
	h.parts = before * int64(parts)
	return h, nil
}

// All tells whether the hand has all numbers.
func (h Hand) All() bool { return h.round == 0 && h.parts <= 1 }

// Nth is number i of the hand, from 0 on. It grows with i.
func (h Hand) Nth(i int64) int64 {
	if h.parts > 1 {
		i = i*h.parts + h.part
	}
	switch len(h.groups) {
	case 0:
		return i
	case 1:
		return i*h.round + h.member
	}
	own := h.groups[h.own]
	e := i*own.members + h.member // of the group's points
	rounds := e / own.points
	e %= own.points
	n := e
	for g, other := range h.groups {
		if g == h.own {
			continue
		}
		// Points f of the other group with (2f+1)/other.points < (2e+1)/own.points come
		// before; those at the same place where the other group stands first.
		reach := (2*e + 1) * other.points
		if g > h.own {
			reach--
		}
		n += (reach/own.points + 1) / 2
	}
	return rounds*h.round + n
}

// Below is how many numbers of the hand are below n.
func (h Hand) Below(n int64) int64 {
	if n <= 0 {
		return 0
	}
	if len(h.groups) <= 1 {
		first := h.Nth(0)
		step := h.Nth(1) - first
		return max(0, (n-first+step-1)/step)
	}
	rounds := n/h.round - 1 // so many are below for certain
	from := int64(0)
	if rounds > 0 {
		from = rounds * (h.groups[h.own].points / h.groups[h.own].members) / max(h.parts, 1)
	}
	most := int64(h.groups[h.own].points/h.groups[h.own].members)*3/max(h.parts, 1) + 2
	return from + int64(sort.Search(int(min(most, n)), func(i int) bool { return h.Nth(from+int64(i)) >= n }))
}
