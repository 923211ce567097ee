package master

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestShiftsAfterAnIncompleteWrite holds that a line which a full disk cut off is skipped, and
// that the next one is not lost with it.
func TestShiftsAfterAnIncompleteWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.at")
	one, two := shift{10, 5}, shift{3000, 50}
	if err := addShift(path, one); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []string{"1000 20", "\n1000 20", "\n10", "\n1000 ", "\n"} {
		if err := os.WriteFile(path, append(slices.Clone(whole), cut...), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := readShifts(path); err != nil || !slices.Equal(all, []shift{one}) {
			t.Errorf("%q: %v, %v", cut, all, err)
		}
		if err := addShift(path, two); err != nil {
			t.Fatal(err)
		}
		if all, err := readShifts(path); err != nil || !slices.Equal(all, []shift{one, two}) {
			t.Errorf("%q and another: %v, %v", cut, all, err)
		}
	}
}
