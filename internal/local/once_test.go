package local

import (
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Once leaves one user of each class, for a time that ends a Fu that never returns.
func TestOnceApplies(t *testing.T) {
	start := func() (*wire.Start, *run.Result) {
		return &wire.Start{DurationNs: 5, Hold: true, WarmupNs: 3, Shares: []*wire.Share{{Nu: 7, Rate: 3, Iterations: 9, Part: 1}}},
			&run.Result{Config: run.Config{Classes: []run.Class{{Name: "a", Users: 7, Rate: 3, Load: "loop"}}}}
	}
	s, r := start()
	once(s, r.Config.Classes, 2)
	if share := s.Shares[0]; !s.Once || s.Hold || s.WarmupNs != 0 || time.Duration(s.DurationNs) != onceLimit || share.Nu != 1 || share.Rate != 0 || share.Iterations != 2 {
		t.Errorf("the start is %v", s)
	}
	if want := (run.Class{Name: "a", Users: 1, Load: "once", Closed: true}); r.Config.Classes[0] != want {
		t.Errorf("the class is %+v", r.Config.Classes[0])
	}
}

func TestNoteOnce(t *testing.T) {
	for _, tt := range []struct {
		exchanges int
		end       time.Duration
		want      []string
	}{
		{99, time.Second, nil},
		{wire.MaxSeen, time.Second, []string{"only the first 100 exchanges are shown"}},
		{1, onceLimit + 1, []string{"not every user was done after 10s"}},
	} {
		l := &load{tally: monitor.New(monitor.Options{Interval: time.Second}), result: new(run.Result), exchanges: tt.exchanges}
		if err := l.tally.Merger.Add(l.tally.Executor(monitor.Host{}, 0), &wire.Batch{Seq: 1, ToNs: int64(tt.end), Final: &wire.Final{LoadNs: int64(tt.end)}}); err != nil {
			t.Fatal(err)
		}
		l.noteOnce()
		if got := strings.Join(l.result.Notes, "|"); len(l.result.Notes) != len(tt.want) || !strings.Contains(got, strings.Join(tt.want, "|")) {
			t.Errorf("after %d exchanges and %v: %q, want %q", tt.exchanges, tt.end, got, tt.want)
		}
	}
}
