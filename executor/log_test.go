package executor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Many lines are passed on a few at a time, without blocking; surplus ones are counted, and the
// remaining ones are sent at the end.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		l := newLogger(func(lines string) { sent = append(sent, strings.Split(lines, "\n")...); time.Sleep(logPause) })
		began := time.Now()
		for range 10 * logQueue {
			l.add("line")
		}
		if time.Since(began) != 0 {
			t.Errorf("adding waited %v", time.Since(began))
		}
		time.Sleep(logPause + 1)
		synctest.Wait()
		if len(sent) != logBurst {
			t.Errorf("%d lines at once, want %d", len(sent), logBurst)
		}
		l.close()
		if len(sent) != logQueue+1 || !strings.HasSuffix(sent[logQueue], " 2304 more lines left out: there were too many at once") || !strings.HasSuffix(sent[0], " line") {
			t.Errorf("%d lines, the last %q", len(sent), sent[len(sent)-1])
		}
		l.add("late")
		l.close()
		if len(sent) != logQueue+1 {
			t.Error("a line after the end")
		}
	})
	(*logger)(nil).close()
}
