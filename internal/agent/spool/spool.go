// Package spool keeps records on disk, in order, until they are forgotten.
//
// A record is bytes and a number; numbers count from 1 without gaps. Records are safe
// once they are synced, in groups: a group's sync takes what has come while the one
// before was going on. Where the disk fails or is full they stay in memory, up to a
// bound, until the disk takes them again; [Spool.Trouble] says so.
//
// A spool is a folder of segments, each named by the number of its first record and
// holding a head, then records: number, length, the bytes, and a checksum of all three.
// A record that was torn by a crash, and never safe, is cut off.
package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of Options.
const (
	DefaultMemory  = 64 << 20
	DefaultSegment = 4 << 20
	DefaultRetry   = time.Second
)

// ErrFull means that the disk takes nothing and the memory for that case is used up.
var ErrFull = errors.New("the spool is full")

// Options of a spool. The zero value has the defaults.
type Options struct {
	Memory  int64         // bytes of records that stay in memory when the disk fails; default 64 MiB
	Segment int64         // bytes of a file; default 4 MiB
	Retry   time.Duration // between attempts to write to a disk that has failed; default 1 s
	Safe    func()        // called when records became safe; it must not block
}

// Spool is an open one. Its methods may be called at once by any goroutine.
type Spool struct {
	dir string
	o   Options

	unsaved atomic.Int64 // records
	oldest  atomic.Int64 // Unix time in ns of the oldest's arrival; 0: there is none

	dirty  chan struct{} // holds one: there is something to sync
	stop   chan struct{}
	syncer sync.WaitGroup

	mu       sync.Mutex
	segments []*segment // guarded by mu, as all below; the last is written to
	entries  []entry    // in order
	last     uint64     // number of the last record ever
	safe     uint64     // up to here records may be read
	memory   int64      // bytes of records that only memory has, while trouble
	trouble  error      // why the disk takes nothing; nil: it does
	retry    time.Time  // when it is tried again
	closed   bool
}

// entry is a record.
type entry struct {
	number  uint64
	segment *segment // nil: in memory only
	at      int64    // of its bytes in the segment
	size    int
	body    []byte // until it is on disk and synced; nil: read it there
	came    int64  // Unix time in ns
}

// Open opens the spool in dir, which is made, and reads what an earlier life left.
func Open(dir string, o Options) (*Spool, error) {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Segment == 0 {
		o.Segment = DefaultSegment
	}
	if o.Retry == 0 {
		o.Retry = DefaultRetry
	}
	if o.Safe == nil {
		o.Safe = func() {}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Spool{dir: dir, o: o, dirty: make(chan struct{}, 1), stop: make(chan struct{})}
	if err := s.recover(); err != nil {
		s.closeSegments()
		return nil, fmt.Errorf("read the spool %s: %w", dir, err)
	}
	s.count()
	s.syncer.Go(s.syncs)
	return s, nil
}

// Append keeps a record and gives its number. The record is safe once Safe is called
// after it. A last word may use more memory than its bound.
func (s *Spool) Append(body []byte, lastWord bool) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, os.ErrClosed
	}
	if s.trouble != nil && !time.Now().Before(s.retry) {
		s.mend()
	}
	e := entry{number: s.last + 1, size: len(body), body: append(make([]byte, 0, len(body)), body...), came: time.Now().UnixNano()}
	if s.trouble == nil {
		if err := s.write(&e); err != nil {
			s.fail(err)
		}
	}
	if s.trouble != nil {
		if s.memory+int64(len(body)) > s.o.Memory && !lastWord {
			return 0, fmt.Errorf("%w: %d bytes wait in memory, because: %w", ErrFull, s.memory, s.trouble)
		}
		s.memory += int64(len(body))
	}
	s.entries = append(s.entries, e)
	s.last = e.number
	s.count()
	if s.trouble != nil { // as safe as it gets
		s.safe = s.last
		s.o.Safe()
		return s.last, nil
	}
	s.wake()
	return s.last, nil
}

// Next gives the first safe record above a number. ok is false when there is none yet.
func (s *Spool) Next(above uint64) (number uint64, body []byte, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(above + 1)
	if i == len(s.entries) || s.entries[i].number > s.safe {
		return 0, nil, false, nil
	}
	e := &s.entries[i]
	if e.body != nil {
		return e.number, e.body, true, nil
	}
	b := make([]byte, e.size)
	if _, err := e.segment.file.ReadAt(b, e.at); err != nil {
		return e.number, nil, true, fmt.Errorf("read record %d of the spool %s: %w", e.number, s.dir, err)
	}
	return e.number, b, true, nil
}

// find gives the index of the first entry that is not below number.
func (s *Spool) find(number uint64) int {
	if len(s.entries) == 0 || number <= s.entries[0].number {
		return 0
	}
	lo, hi := 0, len(s.entries)
	for lo < hi {
		if mid := (lo + hi) / 2; s.entries[mid].number < number {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Forget forgets the records up to a number, and the segments that held no others.
func (s *Spool) Forget(upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.find(upTo + 1)
	for _, e := range s.entries[:n] {
		if e.segment != nil {
			e.segment.left--
		} else {
			s.memory -= int64(e.size)
		}
	}
	s.entries = append([]entry(nil), s.entries[n:]...)
	for len(s.segments) > 1 && s.segments[0].left == 0 {
		s.segments[0].remove()
		s.segments = s.segments[1:]
	}
	s.count()
}

// First is the number of the first record that is there, and one more than Last where
// none is.
func (s *Spool) First() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 {
		return s.last + 1
	}
	return s.entries[0].number
}

// Last is the number of the last record that was ever appended.
func (s *Spool) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Trouble says why records stay in memory; nil: they do not.
func (s *Spool) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// Unsaved is how many records are not forgotten, and when the oldest of them came. It
// never waits for the disk.
func (s *Spool) Unsaved() (n int64, oldest time.Time) {
	if ns := s.oldest.Load(); ns != 0 {
		oldest = time.Unix(0, ns)
	}
	return s.unsaved.Load(), oldest
}

// count keeps what Unsaved says.
func (s *Spool) count() {
	s.unsaved.Store(int64(len(s.entries)))
	if len(s.entries) == 0 {
		s.oldest.Store(0)
	} else {
		s.oldest.Store(s.entries[0].came)
	}
}

// Close syncs what is not yet, and closes. Records stay for the next Open.
func (s *Spool) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.syncer.Wait()
	s.sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeSegments()
	return s.trouble
}

// Remove closes and deletes the spool with all its records.
func (s *Spool) Remove() error {
	_ = s.Close() // what it could not keep is no longer wanted
	return os.RemoveAll(s.dir)
}

// path is of the segment whose first record has this number.
func (s *Spool) path(first uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016d", first))
}
