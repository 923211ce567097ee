package process

import "sync"

// tailWriter retains the last limit bytes written to it.
type tailWriter struct {
	limit int
	mu    sync.Mutex
	buf   []byte
}

// Write retains the end of b and of what was written before. It returns len(b) and nil.
func (t *tailWriter) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf = append(t.buf, b...); len(t.buf) > 2*t.limit { // so that bytes are rarely moved
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.limit:]...)
	}
	return len(b), nil
}

// Bytes returns a copy of the retained bytes.
func (t *tailWriter) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.buf[max(0, len(t.buf)-t.limit):]...)
}
