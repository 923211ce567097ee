package runner

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// reported runs steps of 10 ms for length and returns the batches.
func reported(t *testing.T, length, interval time.Duration) []*wire.Batch {
	return reportedBy(t, plainAlarm{}, steps(scenario.Loop(length)), interval)
}

// reportedBy runs vus and returns the batches.
func reportedBy(t *testing.T, a alarm, vus scenario.Vus, interval time.Duration) []*wire.Batch {
	return reportedLate(t, 0, a, vus, interval)
}

// reportedLate is reportedBy on a host that calls Run some time after the batches' clock began.
func reportedLate(t *testing.T, late time.Duration, a alarm, vus scenario.Vus, interval time.Duration) []*wire.Batch {
	classes, err := Check(vus)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(vus, classes, &wire.Start{IntervalNs: int64(interval), GracefulNs: int64(time.Second), Shares: []*wire.Share{{Nu: 4, Part: 1}}}, meter.New())
	if err != nil {
		t.Fatal(err)
	}
	r.alarm = func() alarm { return a }
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	done, began := make(chan struct{}), time.Now()
	go func() {
		defer close(done)
		time.Sleep(late)
		r.Run(context.WithoutCancel(t.Context()), func(time.Duration) { r.note("stopping") })
	}()
	var batches []*wire.Batch
	if err := r.Report(began, done, func(b *wire.Batch) error { batches = append(batches, b); return nil }); err != nil {
		t.Fatal(err)
	}
	return batches
}

// The length of the load is on the clock of its batches: a load that ends after the second
// that a threshold judges has lasted for that second.
func TestLoadOnTheClockOfBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bs := reportedLate(t, 20*time.Millisecond, plainAlarm{}, steps(scenario.Loop(time.Second)), time.Second)
		if load := time.Duration(bs[len(bs)-1].Final.LoadNs); load < 1020*time.Millisecond || load > 1040*time.Millisecond {
			t.Errorf("the load lasted %v, want 1.02 s", load)
		}
	})
}

func TestBatchesFollowEachOtherAndTheLastOneLeaves(t *testing.T) {
	for _, tt := range []struct {
		name             string
		length, interval time.Duration
		batches          int
		iterations       int64
	}{
		{"whole intervals", 3 * time.Second, time.Second, 4, 1200},
		{"a part at the end", 2500 * time.Millisecond, time.Second, 3, 1000},
		{"shorter than an interval (F54)", 50 * time.Millisecond, time.Second, 1, 20},
		{"the shortest interval", 950 * time.Millisecond, 100 * time.Millisecond, 10, 380},
		{"the longest interval", 90 * time.Second, time.Minute, 2, 36000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bs := reported(t, tt.length, tt.interval)
				if len(bs) != tt.batches {
					t.Errorf("%d batches, want %d", len(bs), tt.batches)
				}
				var to, iterations, recorded int64
				h := new(hdr.Histogram)
				for i, b := range bs {
					last := i == len(bs)-1
					if b.Seq != uint64(i+1) || b.FromNs != to || b.ToNs <= b.FromNs || (b.Final != nil) != last || (b.GoUnixNs != 0) != (i == 0) {
						t.Errorf("batch %d: seq %d, %d to %d, final %v", i, b.Seq, b.FromNs, b.ToNs, b.Final)
					}
					if length := time.Duration(b.ToNs - b.FromNs); !last && length != tt.interval {
						t.Errorf("batch %d is %v long, want %v", i, length, tt.interval)
					}
					to = b.ToNs
					for _, c := range b.Counters {
						if title := bs[0].Declared[c.Metric].Title; title == "vu.f.iterations" {
							iterations += c.Add
						}
					}
					for _, c := range b.Histograms {
						if err := h.Decode(c.Counts); err != nil {
							t.Fatal(err)
						}
						if title := bs[0].Declared[c.Metric].Title; title == "vu.f.service" {
							recorded += int64(h.Count())
						}
					}
				}
				final := bs[len(bs)-1].Final
				if iterations != tt.iterations || recorded != tt.iterations || final.Histograms[0].Count != uint64(tt.iterations) {
					t.Errorf("%d iterations, %d times, final says %d; want %d", iterations, recorded, final.Histograms[0].Count, tt.iterations)
				}
			})
		})
	}
}

// Batches report starts that are due and that gobench has not made.
func TestBatchesTellWhatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := taking(4, scenario.Arrival{Stages: at(100, 5*time.Second)}, always(time.Millisecond))
		bs := reportedBy(t, halt(1005*time.Millisecond, 2500*time.Millisecond), vus, time.Second) // to about 3.51 s
		planned, begun, total := []int64{100, 2, 0, 298, 100}, int64(0), int64(0)
		behind := []int64{0, 99, 199, 0, 0}
		for i, b := range bs[:5] {
			var p, late int64
			for _, c := range b.Counters {
				switch bs[0].Declared[c.Metric].Title {
				case "vu.f.planned":
					p = c.Add
				case "vu.f.begun":
					begun += c.Add
				}
			}
			for _, g := range b.Gauges {
				if bs[0].Declared[g.Metric].Title == "vu.f.behind" {
					late = g.Value
				}
			}
			if off := p - planned[i]; off < -3 || off > 3 {
				t.Errorf("batch %d: %d planned, want about %d", i, p, planned[i])
			}
			if off := late - behind[i]; off < -3 || off > 3 {
				t.Errorf("batch %d: %d behind, want about %d", i, late, behind[i])
			}
			total += p
		}
		if total != 500 || begun != 500 {
			t.Errorf("%d planned and %d begun, want 500", total, begun)
		}
	})
}

// If the end is noticed at the border of an interval, or just after it, no batch is longer than
// an interval.
func TestEndJustAfterABorder(t *testing.T) {
	for range 20 { // either of the two may be noticed first
		synctest.Test(t, func(t *testing.T) {
			r, err := New(nil, nil, &wire.Start{IntervalNs: int64(time.Second)}, meter.New())
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			close(done)
			var lengths []time.Duration
			err = r.Report(time.Now().Add(-1004*time.Millisecond), done, func(b *wire.Batch) error {
				lengths = append(lengths, time.Duration(b.ToNs-b.FromNs))
				return nil
			})
			if want := []time.Duration{time.Second, 4 * time.Millisecond}; err != nil || !slices.Equal(lengths, want) {
				t.Errorf("the batches are %v long (%v), want %v", lengths, err, want)
			}
		})
	}
}

func TestReportEndsWhenSendingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(nil, nil, &wire.Start{IntervalNs: int64(time.Second)}, meter.New())
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		if err := r.Report(time.Now(), nil, func(*wire.Batch) error { return gone }); !errors.Is(err, gone) {
			t.Errorf("Report = %v, want %v", err, gone)
		}
	})
}
