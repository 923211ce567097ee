package threshold

import (
	"fmt"
	"time"
)

// ParseFor parses a threshold for a run whose series has this interval, above 0: its window
// must be a multiple of the interval, and at most maxWindow of them. A syntax error is a
// *SyntaxError, those of the window are not.
func ParseFor(text string, interval time.Duration) (Threshold, error) {
	t, err := parse(text)
	switch {
	case err != nil:
		return t, err
	case t.Over%interval != 0:
		return t, fmt.Errorf("threshold %q: a window of %v is not made of whole intervals of %v (--interval)", text, t.Over, interval)
	case t.Over/interval > maxWindow:
		return t, fmt.Errorf("threshold %q: a window holds at most %d intervals, and %v are %d (a longer --interval helps)", text, maxWindow, t.Over, t.Over/interval)
	}
	return t, nil
}
