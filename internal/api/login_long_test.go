//go:build long

package api

import (
	"testing"
	"time"
)

// TestLoginTakesAsLongForNobody compares the medians of logins with a wrong password, of
// a user and of one that does not exist.
func TestLoginTakesAsLongForNobody(t *testing.T) {
	h := newHasher(Cost{Memory: 8 << 10, Passes: 1})
	hash, err := h.hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string][]time.Duration{}
	for range 15 {
		for _, kept := range []string{hash, ""} {
			began := time.Now()
			if ok, err := h.verify(t.Context(), "wrong", kept); ok || err != nil {
				t.Fatal(ok, err)
			}
			times[kept] = append(times[kept], time.Since(began))
		}
	}
	known, nobody := median(times[hash]), median(times[""])
	if ratio := float64(known) / float64(nobody); ratio < 0.5 || ratio > 2 {
		t.Errorf("%s of a user, %s of nobody", known, nobody)
	}
}

func median(all []time.Duration) time.Duration {
	best := make([]time.Duration, len(all))
	copy(best, all)
	for i := range best {
		for j := i; j > 0 && best[j] < best[j-1]; j-- {
			best[j], best[j-1] = best[j-1], best[j]
		}
	}
	return best[len(best)/2]
}
