package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// prepare opens a feeder like an executor with these numbers.
func prepare(t *testing.T, f *Feeder, weights []int64, places, place int, turn int64) error {
	t.Helper()
	seg, err := segment.New(weights, places, place)
	if err != nil {
		t.Fatal(err)
	}
	registry := meter.New()
	registry.SetNumbers(segment.Numbers{Segment: seg, Turn: turn})
	ctx, _ := meter.With(t.Context(), registry, nil, [2]uint64{})
	return f.open(ctx)
}

// Each row belongs to exactly one executor, whatever the number of executors and their weights.
func TestRowsAreDivided(t *testing.T) {
	for rows := 1; rows < 30; rows += 4 {
		for places := 1; places < 8; places++ {
			var weights []int64
			if rows%8 == 1 {
				for i := range places {
					weights = append(weights, int64(1+i%3))
				}
			}
			path := numbers(t, rows)
			var got, want []string
			for place := range places {
				f := CSV(path)
				if err := prepare(t, f, weights, places, place, 0); err != nil {
					t.Fatal(err)
				}
				got = append(got, all(t, f, "n")...)
			}
			want = append(want, all(t, CSV(path), "n")...)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows on %d places: %v", rows, places, got)
			}
		}
	}
}

// If rows are reused, several executors go through the file as one would, each with its part,
// and an executor that takes over a place continues at some row.
func TestRowsAreDividedOnEachTurn(t *testing.T) {
	for _, rows := range []int{1, 2, 3, 7, 3000} { // the last one is far
		path := numbers(t, rows)
		for place := range 3 {
			for _, turn := range []int64{0, 1 << 22} {
				f := CSV(path, Options{Wrap: true})
				if err := prepare(t, f, nil, 3, place, turn); err != nil {
					t.Fatal(err)
				}
				for i := range int64(3 * rows) {
					row, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if want := (int64(place) + 3*(turn+i)) % int64(rows); row.Get("n") != fmt.Sprint(want) {
						t.Fatalf("%d rows, place %d: row %s is number %d, want %d", rows, place, row.Get("n"), i, want)
					}
				}
			}
		}
	}
	f := CSV(numbers(t, 100_000), Options{Wrap: true}) // looked up, not read sequentially
	if err := prepare(t, f, nil, 5000, 4999, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		row, err := f.Next(t.Context())
		if want := fmt.Sprint((4999 + 5000*i) % 100_000); err != nil || row.Get("n") != want {
			t.Fatalf("row %q, want %s, %v", row.Get("n"), want, err)
		}
	}
}

// Another executor can't take over rows that are used once, and it reports that before the
// load.
func TestRowsGivenOnceAreNotTakenOver(t *testing.T) {
	path := numbers(t, 10)
	once := CSV(path)
	if err := prepare(t, once, nil, 3, 1, 7); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "wrap") {
		t.Errorf("error %v", err)
	}
	if _, err := once.Next(t.Context()); err == nil || errors.Is(err, ErrEnd) {
		t.Errorf("then: %v", err)
	}
	for _, o := range []Options{{Wrap: true}, {Order: Random}, {Order: Unique}} {
		f := CSV(path, o)
		if err := prepare(t, f, nil, 3, 1, 7); err != nil {
			t.Error(err)
		}
	}
	JSONLines("not used again.jsonl")
	CSV("again.csv", Options{Wrap: true})
	CSV("any.csv", Options{Order: Random})
	if names := Once(); !slices.Contains(names, "not used again.jsonl") || slices.Contains(names, "again.csv") || slices.Contains(names, "any.csv") {
		t.Errorf("given once: %q", names)
	}
}
