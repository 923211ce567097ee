package bus

import (
	"testing"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// TestSessionTakesEachOnce compares with a model: each number of the newest window is
// known, and an older one is never accepted, whatever its id.
func TestSessionTakesEachOnce(t *testing.T) {
	t.Parallel()
	s := newSession()
	c, first, ok := s.take(1, "x")
	if !first || !ok {
		t.Fatal("the first command is not taken")
	}
	if again, first, ok := s.take(1, "x"); again != c || first || !ok {
		t.Error("a replayed command is not known")
	}
	if again, first, ok := s.take(2, "x"); again != c || first || !ok {
		t.Error("a repeated command is not known")
	}
	if _, _, ok := s.take(2, "y"); ok {
		t.Error("another command with the same number is taken")
	}
	if _, _, ok := s.take(0, "z"); ok {
		t.Error("a command without a number is taken")
	}
	c.finish(&agentpb.Answer{Code: "busy"})
	for n := uint64(3); n < 3*window; n++ {
		if _, first, ok := s.take(n, "n"+string(rune(n))); !first || !ok {
			t.Fatalf("command %d is not taken", n)
		}
	}
	for n := uint64(1); n <= 2*window-1; n++ {
		if _, _, ok := s.take(n, "x"); ok {
			t.Fatalf("command %d is taken again, and %d was the newest", n, s.newest())
		}
	}
	if len(s.ids) > window || len(s.done) > window {
		t.Errorf("%d numbers and %d commands are remembered, want %d at most", len(s.ids), len(s.done), window)
	}
	if _, first, ok := s.take(100*window, "far"); !first || !ok || len(s.ids) != 1 {
		t.Error("a number far ahead is not taken")
	}
}
