package executor_test

import (
	"context"
	"regexp"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/segment"
)

func TestSeq(t *testing.T) {
	t.Parallel()
	ctx, _ := executortest.Context(t)
	var all sync.Map
	var users sync.WaitGroup
	for range 10 {
		users.Go(func() {
			for range 1000 {
				if n := executor.Seq(ctx); n < 0 || n >= 10_000 {
					t.Errorf("%d, want each number from 0 to 9,999 once", n)
				} else if _, twice := all.LoadOrStore(n, true); twice {
					t.Errorf("%d twice", n)
				}
			}
		})
	}
	users.Wait()
}

// Two executors have no number in common.
func TestSeqOnTwoExecutors(t *testing.T) {
	t.Parallel()
	seen := map[int64]int{}
	for place := range 2 {
		s, err := segment.New(nil, 2, place)
		if err != nil {
			t.Fatal(err)
		}
		r := meter.New()
		r.SetNumbers(segment.Numbers{Segment: s})
		ctx, _ := meter.With(t.Context(), r, nil, [2]uint64{})
		for range 25_000 {
			seen[executor.Seq(ctx)]++
		}
	}
	for n, times := range seen {
		if times > 1 || n >= 60_000 {
			t.Fatalf("%d came %d times", n, times)
		}
	}
	if len(seen) != 50_000 {
		t.Errorf("%d numbers, want 50,000", len(seen))
	}
}

func TestUUID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for user := range uint64(2) {
		of := func() context.Context {
			ctx, _ := meter.With(t.Context(), meter.New(), nil, [2]uint64{7, user})
			return ctx
		}
		ctx := of()
		for range 1000 {
			id := executor.UUID(ctx)
			if !form.MatchString(id) || seen[id] {
				t.Fatalf("%q, twice: %v", id, seen[id])
			}
			seen[id] = true
		}
		if first := executor.UUID(of()); !seen[first] {
			t.Errorf("the same seed makes %s", first)
		}
	}
}
