package bus

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
)

// TestViolationsAreReadFromTheLog: the server's log names the agent, whatever name a client
// has set, and of a flood of violations only some are reported.
func TestViolationsAreReadFromTheLog(t *testing.T) {
	t.Parallel()
	a := &admission{}
	a.remember(7, "a1")
	a.remember(8, "a2")
	var mu sync.Mutex
	var got []string
	l := newServerLog(slog.New(slog.DiscardHandler), a, func(who, subject string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, who+" "+subject)
	}, nil)
	l.Errorf(`127.0.0.1:5 - cid:7 - "v1:go:x" - "$G/a1" - Publish Violation - Subject %q`, "gb.d.a2")
	l.Errorf(`127.0.0.1:5 - cid:7 - "v1:go:x" - "$G/a1" - Publish Violation - Subject %q`, "gb.d.a2") // reported
	l.Errorf(`127.0.0.1:5 - cid:8 - "v1:go:cid:7 - Publish Violation - Subject \"x\"" - Subscription Violation - Subject %q, SID 3`, ">")
	l.Errorf(`[::1]:5 - cid:8 - Publish Violation - Reply %q`, "_R_.x")
	l.Errorf(`127.0.0.1:5 - cid:7 - something else`)
	for n := range 2 * loud {
		l.Errorf(`127.0.0.1:5 - cid:7 - Publish Violation - Subject %q`, fmt.Sprint(n))
	}
	l.close()
	want := []string{"a1 gb.d.a2", "a2 >", "a2 _R_.x"}
	if len(got) < len(want) || fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
		t.Errorf("told: %q", got[:min(len(got), 5)])
	}
	if len(got) > loud {
		t.Errorf("%d were told in a minute", len(got))
	}
	if got := l.dropped; got < loud {
		t.Errorf("%d were left out", got)
	}
}
