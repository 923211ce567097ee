package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serverLog is the embedded server's logger. It is also where violations are seen, since
// the server tells of them nowhere else.
type serverLog struct {
	log         *slog.Logger
	admit       *admission
	onViolation func(who, subject string)
	onRefused   func(who, address string)

	hooks chan func() // what the hooks are to be told, off the server's goroutines
	done  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	failed  string          // what Fatalf said
	told    map[string]bool // this minute
	minute  time.Time       // when it began
	dropped int64           // what was not told
}

func newServerLog(log *slog.Logger, admit *admission, onViolation, onRefused func(string, string)) *serverLog {
	if onViolation == nil {
		onViolation = func(string, string) {}
	}
	if onRefused == nil {
		onRefused = func(string, string) {}
	}
	l := &serverLog{log: log, admit: admit, onViolation: onViolation, onRefused: onRefused,
		hooks: make(chan func(), 256), told: map[string]bool{}}
	l.done.Go(func() {
		for hook := range l.hooks {
			hook()
		}
	})
	return l
}

// close ends the hooks after those that wait.
func (l *serverLog) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.hooks)
	}
	dropped := l.dropped
	l.mu.Unlock()
	l.done.Wait()
	if dropped > 0 {
		l.log.Warn("refusals and violations were too many to be told one by one", "left_out", dropped)
	}
}

// tell has a hook called soon, or counts it when too many wait.
func (l *serverLog) tell(hook func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.hooks <- hook:
	default:
		l.dropped++
	}
}

// loud is how many different refusals and violations are told a minute: whoever makes more
// of them fills no log.
const loud = 200

// first tells whether something is to be told: not for the second time within a minute.
func (l *serverLog) first(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.minute) > time.Minute {
		clear(l.told)
		l.minute = time.Now()
	}
	if l.told[what] {
		return false
	}
	if len(l.told) >= loud {
		l.dropped++
		return false
	}
	l.told[what] = true
	return true
}

// refused hears of a connection that may not be.
func (l *serverLog) refused(who, address string) {
	if l.first("refused " + who) {
		l.log.Warn("a connection to the bus was refused", "who", who, "address", address)
		l.tell(func() { l.onRefused(who, address) })
	}
}

// violation is how the server writes that a client did what it may not. The address and
// the number come first and are the server's own; the rest may hold what a client says.
var violation = regexp.MustCompile(`^\S+ - cid:(\d+)\b.*(?:Publish|Subscription) Violation - (?:Subject|Reply) ("(?:[^"\\]|\\.)*")[^"]*$`)

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if m := violation.FindStringSubmatch(text); m != nil {
		id, _ := strconv.ParseUint(m[1], 10, 64)
		if subject, err := strconv.Unquote(m[2]); err == nil {
			if who := l.admit.owner(id); l.first(who + " " + subject) {
				l.log.Warn("an agent did what it may not", "who", who, "subject", subject)
				l.tell(func() { l.onViolation(who, subject) })
			}
			return
		}
	}
	l.log.Warn("bus: " + text) // a client's fault as often as the server's
}

// Fatalf implements server.Logger.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.mu.Lock()
	l.failed = text
	l.mu.Unlock()
	l.log.Error("bus: " + text)
}

// fatal gives what the server can't go on for.
func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == "" {
		return nil
	}
	return errors.New(l.failed)
}

// Noticef implements server.Logger.
func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug("bus: " + fmt.Sprintf(format, v...))
}

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, "TLS Handshake First") { // that others can't connect is what is wanted
		l.log.Debug("bus: " + text)
		return
	}
	l.log.Warn("bus: " + text)
}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, v ...any) {}

// Tracef implements server.Logger.
func (l *serverLog) Tracef(format string, v ...any) {}
