package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// head begins each segment.
const head = "gobench spool 1\n"

// maxRecord is the greatest length of a record, in bytes.
const maxRecord = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is a file of records.
type segment struct {
	file  *os.File
	path  string
	size  int64
	left  int  // number of records in it that are not deleted
	dirty bool // written to since it was synced
}

func (g *segment) remove() {
	g.file.Close()
	_ = os.Remove(g.path) // if that fails, its records are read again at the next start, and the master knows them by their keys
}

// write writes an entry to the last segment, or to a new one if that has Options.Segment
// bytes, and sets the entry's segment. It does not sync. On an error it cuts off what was
// written, and the entry is unchanged. The caller must hold mu.
func (s *Spool) write(e *entry) error {
	if len(s.segments) == 0 || s.segments[len(s.segments)-1].size >= s.o.Segment {
		if err := s.add(e.number); err != nil {
			return err
		}
	}
	g := s.segments[len(s.segments)-1]
	b := binary.AppendUvarint(nil, e.number)
	b = binary.AppendUvarint(b, uint64(len(e.body)))
	prefix := len(b)
	b = append(b, e.body...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err := g.file.WriteAt(b, g.size); err != nil {
		return errors.Join(err, g.file.Truncate(g.size))
	}
	e.segment, e.at = g, g.size+int64(prefix)
	g.size += int64(len(b))
	g.left++
	g.dirty = true
	return nil
}

// add creates a segment whose first record has the number first and adds it to segments. On
// an error it deletes the file. The caller must hold mu.
func (s *Spool) add(first uint64) error {
	path := s.path(first)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	for n := 1; errors.Is(err, fs.ErrExist); n++ { // a segment that failed has the same name
		path = fmt.Sprintf("%s-%04d", s.path(first), n)
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(head), 0); err != nil {
		f.Close()
		return errors.Join(err, os.Remove(path))
	}
	if err := syncDir(s.dir); err != nil {
		f.Close()
		return errors.Join(err, os.Remove(path))
	}
	s.segments = append(s.segments, &segment{file: f, path: path, size: int64(len(head)), dirty: true})
	return nil
}

// syncDir syncs a folder, so that files created in it exist after a crash.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// wake notifies the syncer. It never blocks.
func (s *Spool) wake() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// syncs syncs groups of records until the spool is closed. Open starts it.
func (s *Spool) syncs() {
	for {
		select {
		case <-s.dirty:
			s.sync()
		case <-s.stop:
			return
		}
	}
}

// sync makes all records safe that were written before it. A sync that fails is not
// repeated, since it is unknown which bytes the kernel has dropped then: the records stay
// in memory (see fail). The caller must not hold mu.
func (s *Spool) sync() {
	s.mu.Lock()
	upTo := s.last
	var files []*segment
	for _, g := range s.segments {
		if g.dirty {
			g.dirty = false
			files = append(files, g)
		}
	}
	s.mu.Unlock()
	if len(files) == 0 {
		return
	}
	var err error
	for _, g := range files {
		if e := g.file.Sync(); e != nil && !errors.Is(e, os.ErrClosed) { // if it is closed, all its records are deleted
			err = e
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fail(err)
	}
	if s.trouble != nil {
		return
	}
	for i := s.find(s.safe); i < len(s.entries) && s.entries[i].number <= upTo; i++ {
		s.entries[i].body = nil
	}
	if upTo > s.safe {
		s.safe = upTo
		s.o.Safe()
	}
}

// fail stores err as the trouble and sets the time of the next attempt. When the trouble
// begins, it moves the records that are not safe to memory, where all new ones stay, too,
// and makes them safe. The caller must hold mu.
func (s *Spool) fail(err error) {
	if s.trouble == nil {
		for i := range s.entries {
			if e := &s.entries[i]; e.number > s.safe && e.segment != nil {
				e.segment.left--
				e.segment = nil
				s.memory += int64(e.size)
			}
		}
		s.cut()
		s.safe = s.last
		s.o.Safe()
	}
	s.trouble = err
	s.retry = time.Now().Add(s.o.Retry)
}

// cut truncates the segments by the records that are in memory now. It ignores errors. The
// caller must hold mu.
func (s *Spool) cut() {
	ends := map[*segment]int64{}
	for _, e := range s.entries {
		if e.segment != nil {
			ends[e.segment] = e.at + int64(e.size) + 4
		}
	}
	for _, g := range s.segments {
		if end := max(ends[g], int64(len(head))); end < g.size && (ends[g] > 0 || g.left == 0 && g == s.segments[len(s.segments)-1]) {
			if g.file.Truncate(end) == nil {
				g.size = end
			}
		}
	}
}

// mend tries to write all records that are in memory only to new segments. If that works, the
// trouble is over; else it deletes these segments, and the records stay in memory. The caller
// must hold mu.
func (s *Spool) mend() {
	s.retry = time.Now().Add(s.o.Retry)
	before := len(s.segments)
	first := 0
	for first < len(s.entries) && s.entries[first].segment != nil {
		first++
	}
	number := s.last + 1
	if first < len(s.entries) {
		number = s.entries[first].number
	}
	err := s.add(number)
	for i := first; i < len(s.entries) && err == nil; i++ {
		err = s.write(&s.entries[i])
	}
	for _, g := range s.segments[before:] {
		if err == nil {
			err = g.file.Sync()
			g.dirty = false
		}
	}
	if err != nil {
		for _, g := range s.segments[before:] {
			g.remove()
		}
		s.segments = s.segments[:before]
		for i := first; i < len(s.entries); i++ {
			s.entries[i].segment = nil
		}
		s.trouble = err
		return
	}
	for i := first; i < len(s.entries); i++ {
		s.entries[i].body = nil
	}
	s.trouble, s.memory = nil, 0
}

// recover reads the segments that a previous process left, and sets last and safe. Open calls
// it once, first. On an error the caller must close the segments.
func (s *Spool) recover() error {
	paths, err := filepath.Glob(filepath.Join(s.dir, "[0-9]*"))
	if err != nil {
		return err
	}
	sort.Strings(paths)
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		g := &segment{file: f, path: path}
		s.segments = append(s.segments, g)
		var first uint64
		if _, err := fmt.Sscanf(filepath.Base(path), "%d", &first); err == nil && first > s.last {
			s.last = first - 1 // the records before are deleted
		}
		if err := s.read(g); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		if g.left == 0 && g.size <= int64(len(head)) && len(s.segments) > 1 { // created, and nothing was written
			g.remove()
			s.segments = s.segments[:len(s.segments)-1]
		}
	}
	s.safe = s.last
	return nil
}

// read adds a segment's records to entries and truncates it before the first incomplete or
// damaged one. A segment with another head becomes empty.
func (s *Spool) read(g *segment) error {
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	in := bufio.NewReader(io.NewSectionReader(g.file, 0, info.Size()))
	got := make([]byte, len(head))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != head {
		if _, err := g.file.WriteAt([]byte(head), 0); err != nil {
			return err
		}
		g.size = int64(len(head))
		return g.file.Truncate(g.size)
	}
	g.size = int64(len(head))
	for {
		number, body, n, err := readRecord(in)
		if err != nil {
			break
		}
		if number > s.last { // else mend has written it twice
			s.entries = append(s.entries, entry{number: number, segment: g, at: g.size + int64(n-len(body)-4), size: len(body), came: info.ModTime().UnixNano()})
			s.last = number
			g.left++
		}
		g.size += int64(n)
	}
	if g.size < info.Size() {
		return g.file.Truncate(g.size)
	}
	return nil
}

var errRecord = errors.New("damaged record")

// readRecord reads a record and returns the number of its bytes in the segment, n. It
// returns an error if the record is incomplete or damaged, and at the end. body is not
// shared.
func readRecord(in *bufio.Reader) (number uint64, body []byte, n int, err error) {
	if number, err = binary.ReadUvarint(in); err != nil {
		return 0, nil, 0, err
	}
	length, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, nil, 0, err
	}
	if length > maxRecord {
		return 0, nil, 0, errRecord
	}
	body = make([]byte, 0, min(length, 1<<20))
	for uint64(len(body)) < length { // so that a wrong length does not use up the memory
		part := make([]byte, min(length-uint64(len(body)), 1<<20))
		if _, err := io.ReadFull(in, part); err != nil {
			return 0, nil, 0, err
		}
		body = append(body, part...)
	}
	var sum [4]byte
	if _, err := io.ReadFull(in, sum[:]); err != nil {
		return 0, nil, 0, err
	}
	b := binary.AppendUvarint(nil, number)
	b = binary.AppendUvarint(b, length)
	n = len(b) + len(body) + 4
	if crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, body) != binary.LittleEndian.Uint32(sum[:]) {
		return 0, nil, 0, errRecord
	}
	return number, body, n, nil
}

func (s *Spool) closeSegments() {
	for _, g := range s.segments {
		g.file.Close()
	}
}
