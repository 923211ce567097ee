package run

import "fmt"

// FindAgent returns the one of all that word means: the agent with that id, or else the
// agent with that name. of returns an agent's id, name and rank: of several with the name,
// the highest rank is meant, and one of rank 0 is found by its id only. FindAgent returns
// an error if nothing is found, or if several have the highest rank.
func FindAgent[T any](all []T, word string, of func(T) (id, name string, rank int)) (found T, err error) {
	best, several := 0, false
	for _, a := range all {
		id, name, rank := of(a)
		switch {
		case id == word:
			return a, nil
		case name != word || rank == 0 || rank < best:
		case rank > best:
			found, best, several = a, rank, false
		default:
			several = true
		}
	}
	var none T
	switch {
	case several:
		return none, fmt.Errorf("several agents are called %q: name one by its id", word)
	case best == 0:
		return none, fmt.Errorf("no agent is called %q", word)
	}
	return found, nil
}
