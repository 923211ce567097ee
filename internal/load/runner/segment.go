package runner

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// segmentOf returns the executor's part of the run: all of it if start has one executor or
// Once, unless its Parts divide it further. It returns an error if start is invalid.
func segmentOf(start *wire.Start) (seg segment.Segment, err error) {
	if start.Turn < 0 || start.ElapsedNs < 0 {
		return seg, fmt.Errorf("the start has turn %d and elapsed %d ns: want 0 or more", start.Turn, start.ElapsedNs)
	}
	if start.Executors > 1 && !start.Once {
		seg, err = segment.New(start.Weights, int(start.Executors), int(start.Place))
	}
	if start.Parts > 1 && err == nil {
		seg, err = seg.Part(int(start.Part), int(start.Parts))
	}
	return seg, err
}

// vui returns the vui of a user by its number in this executor, from 0.
func (c *class) vui(number int64) int64 {
	return c.share.First + c.segment.Nth(number) - c.segment.Nth(0)
}

// scale returns the factor for an Arrival's stages: this executor's share, as the start has
// it. If several executors share a run by segments, it is 1, and each makes a part of the
// starts.
func (c *class) scale() float64 {
	if c.segment.All() {
		return c.share.Part
	}
	return 1
}

// round returns this executor's part of an Arrival's starts.
func (c *class) round() segment.Round {
	if c.segment.All() {
		return c.segment.Round(c.share.Nu)
	}
	return c.segment.Round(int64(c.vu.Nu))
}

// setupSource returns the random source of Setup. No other executor, and no user, has it or a
// user's (userSource). An executor that takes over a lost one's users does not repeat their
// values.
func (c *class) setupSource() [2]uint64 {
	if c.executor == 0 {
		return source(c.seed, uint64(c.number))
	}
	return source(c.seed, uint64(c.number), 3, c.executor)
}

// userSource returns the random source of the user vui of the whole run; see setupSource.
func (c *class) userSource(vui int64) [2]uint64 {
	if c.taker == 0 {
		return source(c.seed, uint64(c.number), 1, uint64(vui))
	}
	return source(c.seed, uint64(c.number), 1, uint64(vui), c.taker)
}
