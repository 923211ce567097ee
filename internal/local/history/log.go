package history

import (
	"fmt"
	"os"
	"sync"
)

// maxLog is how much of an executor's output is stored, in bytes.
const maxLog = 64 << 20

// Log stores what an executor prints, up to a limit, and counts the rest. Write never
// fails, so that a full disk does not stop the executor. Its methods may be called by any
// goroutine.
type Log struct {
	mu      sync.Mutex
	file    *os.File
	left    int64 // bytes that may still be written
	dropped int64
}

// Write stores b, or counts what is beyond the limit as dropped; after an error of the file it
// drops everything. It returns len(b) and nil.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := min(int64(len(b)), l.left)
	n, err := l.file.Write(b[:size])
	if err != nil {
		l.left = 0 // no more after a gap
	}
	l.left = max(0, l.left-int64(n))
	l.dropped += int64(len(b) - n)
	return len(b), nil
}

// Close notes in the log how many bytes were dropped, and closes the file. Later writes are
// dropped.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped > 0 {
		fmt.Fprintf(l.file, "\n[gobench: %d more bytes were not stored]\n", l.dropped)
	}
	return l.file.Close()
}
