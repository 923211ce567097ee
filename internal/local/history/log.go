package history

import (
	"fmt"
	"os"
	"sync"
)

// maxLog is how much of an executor's output is kept, in bytes.
const maxLog = 64 << 20

// Log keeps what an executor prints, up to a limit, and counts the rest. Writing
// never fails: a full disk must not hold up the executor.
type Log struct {
	mu      sync.Mutex
	file    *os.File
	rest    int64 // bytes that may still be written
	dropped int64
}

// Write keeps b, or counts it as dropped.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := min(int64(len(b)), l.rest)
	n, err := l.file.Write(b[:keep])
	if err != nil {
		l.rest = 0 // no more after a gap
	}
	l.rest = max(0, l.rest-int64(n))
	l.dropped += int64(len(b) - n)
	return len(b), nil
}

// Dropped is the number of bytes not kept.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Close says in the log what was dropped and closes it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped > 0 {
		fmt.Fprintf(l.file, "\n[gobench: %d more bytes were not kept]\n", l.dropped)
	}
	return l.file.Close()
}
