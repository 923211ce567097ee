// Package spool stores records on disk, in order, until they are deleted by Forget.
//
// A record is bytes and a number; numbers count from 1 without gaps. A record is safe once
// it is synced. Records are synced in groups: while one sync runs, new records form the
// next group. If the disk fails or is full, records stay in memory, up to a limit, until
// the disk works again; [Spool.Trouble] returns the reason.
//
// A spool is a folder of segments, each named by the number of its first record. A segment
// is a head, followed by records: number, length, the bytes, and a checksum of all three.
// Open cuts off a record that a crash left incomplete; it was never safe.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// ErrFull is returned by Append if the disk fails and Options.Memory is used up.
var ErrFull = errors.New("the spool is full")

// Options configures a spool. The zero value means the defaults.
type Options struct {
	Memory  int64         // bytes of records in memory while the disk fails; default 64 MiB
	Segment int64         // bytes of a file; default 4 MiB
	Retry   time.Duration // between attempts to write to a disk that has failed; default 1 s
	Safe    func()        // called, with the spool locked, when records become safe; it must not block or use the spool
}

// Spool is an open spool. Its methods may be called by any number of goroutines.
type Spool struct {
	dir string
	o   Options

	unsaved atomic.Int64 // records
	oldest  atomic.Int64 // Unix time in ns when the oldest was appended; 0 if there are no records

	dirty  chan struct{} // holds one element if there is something to sync
	stop   chan struct{}
	syncer sync.WaitGroup

	mu       sync.Mutex
	segments []*segment // guarded by mu, as all below; the last is written to
	entries  []entry    // in order of their numbers
	last     uint64     // number of the last record ever
	safe     uint64     // number of the last record that Next may return
	memory   int64      // bytes of records that are not on disk, while trouble is set
	trouble  error      // why the disk fails; nil if it works
	retry    time.Time  // time of the next attempt to write
	closed   bool
}

// entry is a record.
type entry struct {
	number  uint64
	segment *segment // nil: in memory only
	at      int64    // of its bytes in the segment
	size    int
	body    []byte // nil once it is on disk and synced
	came    int64  // Unix time in ns when it was appended
}

// Open opens the spool in dir, which it creates if needed, and reads the records that a
// previous process left, which are safe. It cuts off a damaged record and all behind it in
// the same segment. It returns an error if a file cannot be read or written. The caller
// must Close or Remove the spool; no other process may use dir until then.
func Open(dir string, o Options) (*Spool, error) {
	o.Memory = cmp.Or(o.Memory, 64<<20)
	o.Segment = cmp.Or(o.Segment, 4<<20)
	o.Retry = cmp.Or(o.Retry, time.Second)
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

// Append stores a copy of body and returns its number. It does not wait for the sync, except
// when it tries a failed disk again: the record is safe after a later call of Options.Safe,
// not always the next. While the disk fails, the record is only in memory. If Options.Memory
// is used up then, Append returns an error that wraps ErrFull and stores nothing, unless
// essential is true. It returns os.ErrClosed after Close.
func (s *Spool) Append(body []byte, essential bool) (uint64, error) {
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
		if s.memory+int64(len(body)) > s.o.Memory && !essential {
			return 0, fmt.Errorf("%w: %d bytes are in memory, because: %w", ErrFull, s.memory, s.trouble)
		}
		s.memory += int64(len(body))
	}
	s.entries = append(s.entries, e)
	s.last = e.number
	s.count()
	if s.trouble != nil { // it cannot be made safer
		s.safe = s.last
		s.o.Safe()
		return s.last, nil
	}
	s.wake()
	return s.last, nil
}

// Next returns the first safe record with a number above the given one, from memory or from
// disk. It does not wait: ok is false if no such record exists yet. If the record exists
// and cannot be read, err is set with ok true and body nil. The caller must not change
// body, which may be shared with the spool; it remains valid after Forget.
func (s *Spool) Next(above uint64) (number uint64, body []byte, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(above)
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

// find returns the index of the first entry whose number is above the given one, or
// len(s.entries). The caller must hold mu.
func (s *Spool) find(above uint64) int {
	return sort.Search(len(s.entries), func(i int) bool { return s.entries[i].number > above })
}

// Forget deletes the records up to and with a number, which may be above Last, and segments
// without other records, except the last. Errors of the disk are ignored.
func (s *Spool) Forget(upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.find(upTo)
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

// First returns the number of the first record, or Last plus one if the spool is empty.
func (s *Spool) First() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 {
		return s.last + 1
	}
	return s.entries[0].number
}

// Last returns the number of the last record that was ever appended, or 0.
func (s *Spool) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Trouble returns why records stay in memory, or nil if the disk works.
func (s *Spool) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// Unsaved returns how many records there are, and when the oldest was appended, or the zero
// time. It never waits for the disk.
func (s *Spool) Unsaved() (n int64, oldest time.Time) {
	if ns := s.oldest.Load(); ns != 0 {
		oldest = time.Unix(0, ns)
	}
	return s.unsaved.Load(), oldest
}

// count updates what Unsaved returns. The caller must hold mu.
func (s *Spool) count() {
	s.unsaved.Store(int64(len(s.entries)))
	if len(s.entries) == 0 {
		s.oldest.Store(0)
	} else {
		s.oldest.Store(s.entries[0].came)
	}
}

// Close syncs and closes the spool. Its records remain for the next Open. A disk that has
// failed is tried once more; if that fails, too, Close returns the reason, and records that
// are only in memory are lost. Later calls return nil.
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
	if s.trouble != nil {
		s.mend()
	}
	s.closeSegments()
	return s.trouble
}

// Remove closes and deletes the spool with all its records. It returns the error of the
// deletion.
func (s *Spool) Remove() error {
	_ = s.Close() // its records are not needed any more
	return os.RemoveAll(s.dir)
}

// path returns the path of the segment whose first record has this number.
func (s *Spool) path(first uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016d", first))
}
