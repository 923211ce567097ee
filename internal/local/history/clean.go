package history

import (
	"errors"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Clean deletes those of the runs ids that are older than a time, except active ones, and
// returns how many they were and the size of their files. If dry, it deletes nothing. A run
// that can't be deleted does not end it: the error is that of all such runs, joined. ids must
// be valid, as those of List: it panics on others.
func (h History) Clean(ids []string, older time.Duration, dry bool) (n int, freed int64, err error) {
	for _, id := range ids {
		if older > 0 && time.Since(created(id)) < older {
			continue
		}
		if r, err := h.Load(id); err == nil && !r.State.Final() {
			continue
		}
		size := h.Size(id)
		if !dry {
			if failed := h.Remove(id); failed != nil && !errors.Is(failed, run.ErrNotFound) {
				err = errors.Join(err, failed)
				continue
			}
		}
		n, freed = n+1, freed+size
	}
	return n, freed, err
}
