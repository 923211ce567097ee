package data

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A caller whose context ends while it reads the file does not spoil it for others.
func TestAnEndedContext(t *testing.T) {
	t.Parallel()
	f := CSV(file(t, "a.csv", "a\n1\n2\n"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if got := all(t, f, "a"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("rows %q", got)
	}
}
