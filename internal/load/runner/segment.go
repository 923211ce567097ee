package runner

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// segmentOf is what of the run is an executor's, by its start.
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

// vui is that of a user of this executor, by its number here from 0 on.
func (c *class) vui(number int64) int64 {
	return c.share.First + c.segment.Nth(number) - c.segment.Nth(0)
}

// scale is by how much an Arrival's stages are made less: several executors that share a
// run follow them as they are.
func (c *class) scale() float64 {
	if c.segment.All() {
		return c.share.Part
	}
	return 1
}

// round is what of an Arrival's starts is made here.
func (c *class) round() segment.Round {
	if c.segment.All() {
		return c.segment.Round(c.share.Nu)
	}
	return c.segment.Round(int64(c.vu.Nu))
}

// setupSource and userSource are random sources that no other executor, and no other
// user, has. An executor that takes a lost one's users over does not repeat them.
func (c *class) setupSource() [2]uint64 {
	if c.executor == 0 {
		return source(c.seed, uint64(c.number))
	}
	return source(c.seed, uint64(c.number), 3, c.executor)
}

func (c *class) userSource(vui int64) [2]uint64 {
	if c.taker == 0 {
		return source(c.seed, uint64(c.number), 1, uint64(vui))
	}
	return source(c.seed, uint64(c.number), 1, uint64(vui), c.taker)
}
