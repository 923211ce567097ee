package executor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// operations returns a recorder of the test, its ctx, and the operations "kv".
func operations(t testing.TB) (context.Context, *executortest.Recorder, *executor.Recorder, *executor.Operations) {
	t.Helper()
	ctx, got := executortest.Context(t)
	rec := executor.From(ctx)
	kv, err := rec.Operations("kv")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := rec.Operations("kv"); again != kv || err != nil {
		t.Errorf("declared again: %p %v, want %p", again, err, kv)
	}
	return ctx, got, rec, kv
}

// begin begins an operation.
func begin(t testing.TB, ctx context.Context, kv *executor.Operations) *executor.Operation {
	t.Helper()
	op, err := executor.From(ctx).Operation(ctx, kv, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return &op
}

func TestOperation(t *testing.T) {
	t.Parallel()
	refused, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		end    func(op *executor.Operation) error
		counts map[string]int64
		errors map[string]int64
		error  error
	}{
		{name: "ok", end: func(op *executor.Operation) error { op.OK(7); return nil },
			counts: map[string]int64{"begun": 1, "ok": 1, "latency": 1, "bytes": 7}},
		{name: "failed", end: func(op *executor.Operation) error { op.Failed("MOVED"); return nil },
			counts: map[string]int64{"begun": 1, "failed": 1, "status.MOVED": 1, "latency": 1}},
		{name: "unanswered", end: func(op *executor.Operation) error { op.Unanswered("lagging"); return nil },
			counts: map[string]int64{"begun": 1, "unanswered": 1, "error.lagging": 1, "age": 1}, errors: map[string]int64{"lagging: lagging": 1}},
		{name: "an error", end: func(op *executor.Operation) error { return op.Error(fmt.Errorf("read: %w", io.EOF)) },
			counts: map[string]int64{"begun": 1, "unanswered": 1, "error.eof": 1, "age": 1}, errors: map[string]int64{"eof: read: EOF": 1}, error: io.EOF},
		{name: "canceled", end: func(op *executor.Operation) error { return op.Error(refused.Err()) },
			counts: map[string]int64{"begun": 1, "unanswered": 1, "error.canceled": 1, "age": 1}, error: context.Canceled},
		{name: "the first end counts", end: func(op *executor.Operation) error {
			op.OK(7)
			op.OK(7)
			op.Failed("x")
			op.Unanswered("x")
			return op.Error(io.EOF)
		}, counts: map[string]int64{"begun": 1, "ok": 1, "latency": 1, "bytes": 7}, error: io.EOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, got, _, kv := operations(t)
			scope := meter.ScopeOf(ctx)
			op := begin(t, ctx, kv)
			if n, limit := scope.InFlight(), scope.Limit(); n != 1 || limit != time.Second {
				t.Errorf("%d in flight, for at most %v", n, limit)
			}
			if err := tt.end(op); !errors.Is(err, tt.error) {
				t.Errorf("error %v, want %v", err, tt.error)
			}
			if n := scope.InFlight(); n != 0 {
				t.Errorf("%d in flight at the end", n)
			}
			if counts := got.Counts("kv."); !maps.Equal(counts, tt.counts) {
				t.Errorf("counts %v, want %v", counts, tt.counts)
			}
			if errs := got.Errors("kv"); !maps.Equal(errs, tt.errors) {
				t.Errorf("errors %v, want %v", errs, tt.errors)
			}
		})
	}
}

// An operation whose ctx has ended, or whose class's gate is closed, does not begin.
func TestOperationThatMayNotBegin(t *testing.T) {
	t.Parallel()
	ctx, got, rec, kv := operations(t)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	op, err := rec.Operation(ended, kv, time.Second)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ctx has ended: %v", err)
	}
	op.OK(1)
	scope := meter.ScopeOf(ctx)
	scope.Gate = new(meter.Gate)
	scope.Gate.Close()
	if op, err = rec.Operation(ctx, kv, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("the gate is closed: %v", err)
	}
	op.Failed("x")
	if counts := got.Counts("kv."); len(counts) > 0 || scope.InFlight() != 0 {
		t.Errorf("counted: %v, %d in flight", counts, scope.InFlight())
	}
}

// An operation lasts no longer than its ctx, and ends as what ended that.
func TestOperationWithADeadline(t *testing.T) {
	t.Parallel()
	ctx, got, rec, kv := operations(t)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	op, err := rec.Operation(short, kv, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if limit := meter.ScopeOf(ctx).Limit(); limit > 20*time.Millisecond || limit <= 0 {
		t.Errorf("its limit is %v", limit)
	}
	<-short.Done()
	if err := op.Error(os.ErrClosed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if n := got.Counts("kv.error.")["timeout"]; n != 1 {
		t.Errorf("%v", got.Counts("kv."))
	}
}

// A class with an id in it does not use up the metrics of a run.
func TestOperationsWithManyClasses(t *testing.T) {
	t.Parallel()
	ctx, got, _, kv := operations(t)
	for i := range 100 {
		op := begin(t, ctx, kv)
		op.Failed(fmt.Sprint("key ", i))
		op = begin(t, ctx, kv)
		op.Unanswered(fmt.Sprint("key ", i))
	}
	for _, by := range []string{"kv.status.", "kv.error."} {
		if counts := got.Counts(by); len(counts) != 41 || counts["other"] != 60 || counts["key 39"] != 1 {
			t.Errorf("%s: %v", by, counts)
		}
	}
}

// A class that a title can't have, as one cut from an answer, is counted as what prints of it.
func TestOperationsWithOddClasses(t *testing.T) {
	t.Parallel()
	ctx, got, _, kv := operations(t)
	for _, class := range []string{"BUSY\n", "BUSY", "", "\x00", strings.Repeat("é", 100), "\xff!"} {
		op := begin(t, ctx, kv)
		op.Failed(class)
	}
	want := map[string]int64{"BUSY": 2, "other": 2, strings.Repeat("é", 30): 1, "!": 1}
	if counts := got.Counts("kv.status."); !maps.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
}

func TestOperationAllocates(t *testing.T) {
	ctx, _, rec, kv := operations(t)
	for name, end := range map[string]func(op *executor.Operation){
		"ok":         func(op *executor.Operation) { op.OK(1) },
		"failed":     func(op *executor.Operation) { op.Failed("MOVED") },
		"unanswered": func(op *executor.Operation) { op.Unanswered("timeout") },
	} {
		for range 10 { // samples, and the first of each class
			end(begin(t, ctx, kv))
		}
		if n := testing.AllocsPerRun(100, func() {
			op, _ := rec.Operation(ctx, kv, time.Second)
			end(&op)
		}); n > 1 { // the Operation, which this test passes to a function that it does not know
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		op, _ := rec.Operation(ctx, kv, time.Second)
		op.OK(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOperation(b *testing.B) {
	ctx, _, rec, kv := operations(b)
	for b.Loop() {
		op, err := rec.Operation(ctx, kv, time.Second)
		if err != nil {
			b.Fatal(err)
		}
		op.OK(1)
	}
}
