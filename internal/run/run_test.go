package run

import (
	"testing"
	"time"
)

// Ids sort by the time at which their runs began, also within a second.
func TestIDsSortByTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 45, 12, 0, time.UTC)
	last := ""
	for range 2000 {
		id := NewID(at)
		if !ValidID(id) || last != "" && id[:18] <= last[:18] {
			t.Fatalf("%s follows %s", id, last)
		}
		last = id
		at = at.Add(time.Millisecond)
	}
	if a, b := NewID(at), NewID(at); a == b {
		t.Errorf("two runs of a moment are both %s", a)
	}
	for _, bad := range []string{"", "20261121-064512", "20261121-064512-abcd", "20261121-064512-abc.ef", "20261321-064512-abcdef", "../61121-064512-abcdef"} {
		if ValidID(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

func TestEnough(t *testing.T) {
	for _, x := range QuantileNames {
		n := map[string]int64{"p50": 2, "p90": 10, "p95": 20, "p99": 100, "p99.9": 1000}[x.Name]
		if !Enough(x.Q, n) || Enough(x.Q, n-1) {
			t.Errorf("%s of %d values: %v, of %d: %v", x.Name, n, Enough(x.Q, n), n-1, Enough(x.Q, n-1))
		}
	}
}

func TestAnswered(t *testing.T) {
	for _, tt := range []struct {
		q           float64
		count, lost int64
		want        bool
	}{
		{0.99, 99, 1, true}, {0.99, 98, 2, false}, {0.99, 100, 0, true}, {0.5, 1, 1, true}, {0.5, 1, 2, false}, {0.999, 9990, 10, true}, {0.999, 9989, 11, false},
	} {
		if got := Answered(tt.q, tt.count, tt.lost); got != tt.want {
			t.Errorf("Answered(%v, %d, %d) = %v", tt.q, tt.count, tt.lost, got)
		}
	}
}
