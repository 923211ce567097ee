// Package split gives each executor of a run its part: at the begin, when a person
// changes the load, and when others take over what lost executors did. It is arithmetic
// and does no I/O.
//
// Package segment decides what belongs to whom, which the executors compute for
// themselves: a [wire.Start] tells each only where it sits. So the executors together
// make exactly the load that one would: the same users at the same times, the same starts
// of an Arrival, whatever their number and weights are.
package split

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// Place is an agent that takes part in a run.
type Place struct {
	Agent     string
	Weight    int // its share beside the others'; 0: 1
	Processes int // executors on it, which divide its share; 0: 1
}

// Limits of a Place.
const (
	MaxWeight    = 1_000_000
	MaxProcesses = 1000
)

// Executor is one of a run's executors.
type Executor struct {
	Agent string
	Start *wire.Start // Start.Executor is its number in the run
}

// Plan is how a run is shared. It is for one goroutine at a time.
type Plan struct {
	classes []*class
	rows    []string   // files of data that give each row once
	all     []Executor // by their numbers, from that of the base on
	live    []Executor // in their order; of all
	gone    []Executor // whose part nobody has taken over
	lost    bool       // an executor was lost
	paused  bool       // by a person
	takes   int64      // how often parts of lost executors were taken over
}

// class is a class of users, and what a person has made of it.
type class struct {
	*wire.Class
	users int64   // in force; below 0: as the class says
	rate  float64 // in force; below 0: as the class says
}

// New shares a run out among places, as their executors' first word says what there is
// to share. Base has what is the same in all starts. The executors come in the order of
// the places, numbered on from base's. An executor whose share of a class is empty has
// nothing to do of it.
func New(hello *wire.Hello, places []Place, base *wire.Start) (*Plan, error) {
	weights, err := weigh(places)
	if err != nil {
		return nil, err
	}
	n := len(weights)
	if base.Once && n > 1 {
		return nil, fmt.Errorf("a run of one iteration is one executor's, and there are %d", n)
	}
	p := &Plan{rows: hello.Once}
	for _, c := range hello.Classes {
		p.classes = append(p.classes, &class{Class: c, users: -1, rate: -1})
	}
	if slices.Min(weights) == slices.Max(weights) {
		weights = nil
	}
	for _, at := range places {
		for range max(at.Processes, 1) {
			s := proto.CloneOf(base)
			s.Executor, s.Executors, s.Place = base.Executor+uint32(len(p.all)), uint32(n), uint32(len(p.all))
			s.Weights = weights
			seg, err := segmentOf(s)
			if err != nil {
				return nil, err
			}
			s.Shares = nil
			for _, c := range p.classes {
				s.Shares = append(s.Shares, c.share(seg))
			}
			p.all = append(p.all, Executor{at.Agent, s})
		}
	}
	p.exact()
	p.live = slices.Clone(p.all)
	return p, nil
}

// weigh gives the weight of each process.
func weigh(places []Place) (weights []int64, err error) {
	if len(places) == 0 {
		return nil, errors.New("no agent is there to run it")
	}
	common := int64(1) // that all numbers of processes divide
	for _, p := range places {
		if p.Weight < 0 || p.Weight > MaxWeight || p.Processes < 0 || p.Processes > MaxProcesses {
			return nil, fmt.Errorf("agent %s has weight %d and %d processes: want up to %d and %d", p.Agent, p.Weight, p.Processes, MaxWeight, MaxProcesses)
		}
		if common = leastCommon(common, int64(max(p.Processes, 1))); common > segment.MaxRound {
			return nil, errors.New("the agents' numbers of processes are too different from each other to share a run exactly")
		}
	}
	for _, p := range places {
		processes := max(p.Processes, 1)
		for range processes {
			weights = append(weights, int64(max(p.Weight, 1))*common/int64(processes))
		}
	}
	return weights, nil
}

func leastCommon(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// segmentOf returns the segment of an executor, by its start.
func segmentOf(s *wire.Start) (segment.Segment, error) {
	seg, err := segment.New(s.Weights, int(s.Executors), int(s.Place))
	if err == nil && s.Parts > 1 {
		seg, err = seg.Part(int(s.Part), int(s.Parts))
	}
	return seg, err
}

// share is the share of a class that belongs to a segment.
func (c *class) share(seg segment.Segment) *wire.Share {
	nu := seg.Below(c.Nu)
	part := float64(nu) / float64(c.Nu)
	s := &wire.Share{First: seg.Nth(0), Nu: nu, Rate: c.Rate * part, Part: part, Iterations: c.Iterations}
	if !c.Each {
		s.Iterations = seg.Round(c.Nu).Below(c.Iterations)
	}
	return s
}

// exact makes rates and parts add up to those of the whole: the last executor with users
// takes what rounding left.
func (p *Plan) exact() {
	for i, c := range p.classes {
		rate, part := 0.0, 0.0
		var last *wire.Share
		for _, e := range p.all {
			if s := e.Start.Shares[i]; s.Nu > 0 {
				if last != nil {
					rate, part = rate+last.Rate, part+last.Part
				}
				last = s
			}
		}
		if last != nil {
			last.Rate, last.Part = c.Rate-rate, 1-part
		}
	}
}

// Executors are those of the run that are not lost, in the order of their numbers.
func (p *Plan) Executors() []Executor { return slices.Clone(p.live) }

// Starts are those of Executors.
func (p *Plan) Starts() (starts []*wire.Start) {
	for _, e := range p.live {
		starts = append(starts, e.Start)
	}
	return starts
}
