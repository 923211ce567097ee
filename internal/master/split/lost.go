package split

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// Gone removes the executors with these numbers from the run. Their load is missing until
// TakeOver. It ignores numbers that are unknown or gone already.
func (p *Plan) Gone(executors ...uint32) {
	p.live = slices.DeleteFunc(p.live, func(e Executor) bool {
		if !slices.Contains(executors, e.Start.Executor) {
			return false
		}
		p.gone = append(p.gone, e)
		p.lost = true
		return true
	})
}

// Movable returns nil if the parts of lost executors can be taken over in this run, and
// otherwise an error with the reason: rows of data that are used only once.
func (p *Plan) Movable() error {
	if len(p.rows) > 0 {
		return fmt.Errorf("each row of data file %s may be used only once, and the rows that a lost agent has used are unknown: let rows be used again (wrap), or let the run continue without the agents it loses (on_lost: continue)", p.rows[0])
	}
	return nil
}

// Done is what an executor is known to have done of a class.
type Done struct {
	Finished   int64 // users whose work is over: vu.CLASS.finished
	Iterations int64 // vu.CLASS.iterations
}

// window is the number of blocks of {{seq}}, and of rows of data, that are reserved for a
// place before it is taken over: how many a lost executor has used is unknown.
const window = 1 << 22

// TakeOver returns further executors on the surviving agents, which take over the load of
// those gone from elapsed on; their numbers continue those of the plan. Load that was due at
// a time before elapsed is omitted; users that had not finished and counted iterations that
// were missing are made up for. done has what each lost executor had done, by its number and
// in the order of the classes; what it did after its last report is repeated. The caller
// must make sure that the lost executors generate no load any more.
//
// If there are more survivors than parts, each part is divided. The result is empty if
// nothing is left to do. TakeOver returns an error if Movable does, if no survivor is left,
// or if the parts can't be divided further; the plan is unchanged then and it may be called
// again.
func (p *Plan) TakeOver(survivors []Place, elapsed time.Duration, done map[uint32][]Done) ([]Executor, error) {
	if err := p.Movable(); err != nil {
		return nil, err
	}
	if len(p.gone) == 0 {
		return nil, nil
	}
	if len(survivors) == 0 {
		return nil, errors.New("no agent is left to take over what the lost ones did")
	}
	parts := max(1, len(survivors)/len(p.gone))
	load := make([]float64, len(survivors)) // assigned so far, by weight
	next := p.all[0].Start.Executor + uint32(len(p.all))
	var further []Executor
	for _, e := range p.gone {
		for part := range parts {
			s, err := p.successor(e.Start, part, parts, elapsed, done[e.Start.Executor])
			if err != nil {
				return nil, err
			}
			if p.idle(s) {
				continue
			}
			least := 0
			for i := range survivors {
				if load[i] < load[least] {
					least = i
				}
			}
			weight := 1.0
			if len(s.Weights) > 0 {
				weight = float64(s.Weights[s.Place])
			}
			load[least] += weight / float64(max(s.Parts, 1)) / float64(max(survivors[least].Weight, 1))
			s.Executor = next + uint32(len(further))
			further = append(further, Executor{survivors[least].Agent, s})
		}
	}
	p.takes++
	p.gone = nil
	p.all = append(p.all, further...)
	p.live = append(p.live, further...)
	return further, nil
}

// successor returns the start of the executor that takes over part number part, of parts, of a
// lost executor's load. Its Executor is still that of the lost one. A class beyond the end of
// done counts as not begun. The error means that the load can't be divided further, or that no
// numbers are left for {{seq}}.
func (p *Plan) successor(lost *wire.Start, part, parts int, elapsed time.Duration, done []Done) (*wire.Start, error) {
	before, err := segmentOf(lost)
	if err != nil {
		return nil, err
	}
	seg, err := before.Part(part, parts)
	if err != nil {
		return nil, err
	}
	s := proto.CloneOf(lost)
	had := max(lost.Parts, 1)
	s.Part, s.Parts = lost.Part+had*uint32(part), had*uint32(parts)
	// The place's next window, of which each part gets a section.
	s.Turn = ((p.takes+1)*window + int64(s.Parts) - 1) / int64(s.Parts)
	s.ElapsedNs = int64(elapsed)
	s.Profiles = nil
	last := segment.Numbers{Segment: seg, Turn: s.Turn}.Nth(window / int64(s.Parts))
	if last > segment.MaxSeq/segment.Block {
		return nil, errors.New("so many executors were lost that no numbers are left for {{seq}}")
	}
	s.Shares = nil
	for i, c := range p.classes {
		var d Done
		if i < len(done) {
			d = done[i]
		}
		s.Shares = append(s.Shares, c.remainder(lost, lost.Shares[i], before, seg, part, parts, d))
	}
	return s, nil
}

// remainder returns what is left to do of part number part, of parts, of a lost share. before
// is the lost executor's segment, seg that of the part.
func (c *class) remainder(lost *wire.Start, was *wire.Share, before, seg segment.Segment, part, parts int, done Done) *wire.Share {
	s := c.share(seg)
	switch {
	case c.Iterations > 0:
		left := was.Iterations
		if c.Each && lost.ElapsedNs == 0 {
			left *= was.Nu
		}
		left = max(0, left-done.Iterations)
		// The share is that of the users from+1 to from+s.Nu.
		from := int64(0)
		for i := range part {
			h, err := before.Part(i, parts)
			if err == nil { // as for this part
				from += h.Below(c.Nu)
			}
		}
		s.Iterations = 0
		if was.Nu > 0 {
			s.Iterations = portion(left, from+s.Nu, was.Nu) - portion(left, from, was.Nu)
		}
	case c.LoopNs == 0 && len(c.Stages) == 0: // each user works once
		if begun := was.Begun + done.Finished - int64(part); begun > 0 {
			s.Begun = min((begun+int64(parts)-1)/int64(parts), s.Nu)
		}
	}
	return s
}

// portion returns n*part/whole, rounded down, without overflow.
func portion(n, part, whole int64) int64 { return n/whole*part + n%whole*part/whole }

// idle reports whether nothing is left to do for a start of this plan.
func (p *Plan) idle(s *wire.Start) bool {
	for i, c := range p.classes {
		share := s.Shares[i]
		var length int64
		for _, stage := range c.Stages {
			length += stage.OverNs
		}
		switch {
		case share.Nu == 0:
		case c.Iterations > 0:
			if share.Iterations > 0 {
				return false
			}
		case c.LoopNs > 0 || len(c.Stages) > 0:
			if s.ElapsedNs < max(length, c.LoopNs) {
				return false
			}
		case share.Begun < share.Nu:
			return false
		}
	}
	return true
}
