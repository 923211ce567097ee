package main

import "testing"

func TestReadDay(t *testing.T) {
	size, slowest, err := readDay([]byte("    size_test.go:156: 333 MB: 14400 parts of 4317 bytes at level 0; a piece has 12166 bytes\n" +
		"    size_test.go:178: 24 h before 24 h,   50 points:   96 parts of 15m0s in 13ms\n" +
		"    size_test.go:178: 24 h before 24 h, 1000 points: 1440 parts of 1m0s in 159ms\n"))
	if err != nil || size < 349 || size > 350 || slowest != 159 {
		t.Errorf("%v MB, %v ms, %v", size, slowest, err)
	}
	if _, _, err := readDay([]byte("ok\n")); err == nil {
		t.Error("nothing is read as figures")
	}
}

func TestFiguresOfAMaster(t *testing.T) {
	of := func(low, high, all float64) *figures {
		return &figures{values: map[string]float64{`x_bucket{le="0.05"}`: low, `x_bucket{le="0.1"}`: high, "x_count": all}}
	}
	before := of(100, 100, 100)
	for _, tt := range []struct {
		after *figures
		want  float64
	}{{of(199, 200, 200), 0.05}, {of(198, 200, 200), 0.1}} {
		if got := tt.after.atMost(before, "x", 0.99); got != tt.want {
			t.Errorf("p99 is %v, want %v", got, tt.want)
		}
	}
	var held limits
	held.at("a", 1, 1)
	if held.String() != "met" {
		t.Errorf("at the limit: %s", held)
	}
	held.at("b", 2, 1)
	held.at("c", of(0, 0, 0).atMost(before, "x", 0.99), 1)
	if held.String() != "missed: b, c" {
		t.Errorf("above limits: %s", held)
	}
}

// A simulated executor's histograms have the declared size.
func TestSwarmHistograms(t *testing.T) {
	s := newSwarm()
	for _, all := range s.data {
		for _, h := range all[:swarmHistograms] {
			if n := len(h.Counts); n < 800 || n > 1300 {
				t.Errorf("a histogram has %d bytes", n)
			}
		}
	}
	if n := len(s.series); n < swarmHistograms+swarmCounters {
		t.Errorf("%d series", n)
	}
}
