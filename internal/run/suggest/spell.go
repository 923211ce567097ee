// Package suggest finds the known word that a user may have meant by an unknown one.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// Sorted returns the known words in a new slice, nearest to word first; equally near ones
// stay in their order. Case matters.
func Sorted(word string, known []string) []string {
	far := map[string]int{}
	for _, name := range known {
		far[name] = distance(word, name)
	}
	sorted := slices.Clone(known)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	return sorted
}

// Meant returns the known word nearest to word, or "" if no word is near: a near one differs
// in one byte or at most a third of its bytes, or is the only one with this prefix. The
// first of equally near ones counts.
func Meant(word string, known []string) string {
	if word == "" || len(known) == 0 {
		return ""
	}
	if best := Sorted(word, known)[0]; distance(word, best) <= max(1, len(best)/3) {
		return best
	}
	var begins []string
	for _, name := range known {
		if strings.HasPrefix(name, word) {
			begins = append(begins, name)
		}
	}
	if len(begins) == 1 {
		return begins[0]
	}
	return ""
}

// distance returns how many bytes to insert, remove, change or swap with the next one to
// turn a into b (Damerau and Levenshtein, optimal string alignment).
func distance(a, b string) int {
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		two, one, row = one, row, two
		row[0] = i + 1
		for j := range len(b) {
			change := one[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, one[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
