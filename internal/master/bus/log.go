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

// serverLog is the embedded server's logger. It also detects violations of permissions,
// which the server reports only in its log.
type serverLog struct {
	log         *slog.Logger
	admit       *admission
	onViolation func(who, subject string)
	onRefused   func(who, address string)

	hooks chan func() // calls of the hooks, made by a goroutine of serverLog
	done  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	failed   string          // the text of Fatalf
	reported map[string]bool // reported during this minute
	minute   time.Time       // when the minute began
	dropped  int64           // number of events that were not reported
}

// newServerLog returns a logger with a goroutine that calls the hooks, one at a time. Either
// hook may be nil. The caller must close it.
func newServerLog(log *slog.Logger, admit *admission, onViolation, onRefused func(string, string)) *serverLog {
	if onViolation == nil {
		onViolation = func(string, string) {}
	}
	if onRefused == nil {
		onRefused = func(string, string) {}
	}
	l := &serverLog{log: log, admit: admit, onViolation: onViolation, onRefused: onRefused,
		hooks: make(chan func(), 256), reported: map[string]bool{}}
	l.done.Go(func() {
		for hook := range l.hooks {
			hook()
		}
	})
	return l
}

// close makes the pending calls of hooks, waits for them, and accepts no more. It logs how
// many reports were dropped. It may be called twice.
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
		l.log.Warn("there were too many refusals and violations to report each", "left_out", dropped)
	}
}

// enqueue queues a call of a hook, or counts it as dropped if 256 are waiting. It does not
// block. After close it does nothing.
func (l *serverLog) enqueue(hook func()) {
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

// loud is the maximum number of different refusals and violations that are reported in a
// minute, so that no client can fill the log.
const loud = 200

// first reports whether an event is to be reported, and records it: not if it was reported
// during this minute. If loud others were, it is counted as dropped.
func (l *serverLog) first(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.minute) > time.Minute {
		clear(l.reported)
		l.minute = time.Now()
	}
	if l.reported[what] {
		return false
	}
	if len(l.reported) >= loud {
		l.dropped++
		return false
	}
	l.reported[what] = true
	return true
}

// refused logs that a connection was refused and queues the call of onRefused, once a minute
// for each who (see ServerOptions.OnRefused).
func (l *serverLog) refused(who, address string) {
	if l.first("refused " + who) {
		l.log.Warn("a connection to the bus was refused", "who", who, "address", address)
		l.enqueue(func() { l.onRefused(who, address) })
	}
}

// violation matches the server's log line about a violation. Address and connection id come
// first and are the server's own; the rest may contain text of the client.
var violation = regexp.MustCompile(`^\S+ - cid:(\d+)\b.*(?:Publish|Subscription) Violation - (?:Subject|Reply) ("(?:[^"\\]|\\.)*")[^"]*$`)

// Errorf implements server.Logger. A violation of permissions is logged once a minute for each
// client and subject, unless loud others were, and onViolation is queued; other errors are
// logged as warnings.
func (l *serverLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if m := violation.FindStringSubmatch(text); m != nil {
		id, _ := strconv.ParseUint(m[1], 10, 64)
		if subject, err := strconv.Unquote(m[2]); err == nil {
			if who := l.admit.owner(id); l.first(who + " " + subject) {
				l.log.Warn("an agent did what it may not", "who", who, "subject", subject)
				l.enqueue(func() { l.onViolation(who, subject) })
			}
			return
		}
	}
	l.log.Warn("bus: " + text) // often the fault of a client
}

// Fatalf implements server.Logger. It logs the text and stores it for fatal; it does not end
// the process.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.mu.Lock()
	l.failed = text
	l.mu.Unlock()
	l.log.Error("bus: " + text)
}

// fatal returns the error that the server has stopped with, or nil.
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

// Warnf implements server.Logger: it logs a warning, or a debug message about a client without
// TLS first.
func (l *serverLog) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, "TLS Handshake First") { // other clients are not meant to connect
		l.log.Debug("bus: " + text)
		return
	}
	l.log.Warn("bus: " + text)
}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, v ...any) {}

// Tracef implements server.Logger.
func (l *serverLog) Tracef(format string, v ...any) {}
