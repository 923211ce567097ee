package master

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// maxLog is the maximum size of an executor's stored output, in bytes. Agents deliver less.
const maxLog = 128 << 20

// shift maps offsets of an executor's output to offsets in its file. They differ where
// output was dropped, since the file has a note about it instead.
type shift struct {
	from int64 // offset in the output from which this shift applies
	by   int64 // offset in the output minus offset in the file
}

// writePiece writes a piece of an executor's output to the file at path, which it creates if
// it does not exist. It is idempotent: the shifts are stored in path.at, so a repeated piece
// goes to the same place. If bytes were dropped after the piece, a line says so behind it. It
// returns an error, and leaves the file as it is, if the piece would end beyond maxLog. The
// caller must not write the same file concurrently. A piece that begins beyond the end of the
// file, as output before it is missing, is appended.
func writePiece(path string, piece *agentpb.Log) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	shifts, err := readShifts(path + ".at")
	if err != nil {
		return err
	}
	by := int64(0)
	for _, s := range shifts {
		if s.from <= piece.Offset {
			by = s.by
		}
	}
	at := piece.Offset - by
	hole := at > info.Size() || at < 0 // a piece before it is missing
	if hole {
		at = info.Size()
	}
	if at+int64(len(piece.Text)) > maxLog {
		return fmt.Errorf("it has more than %d bytes", maxLog)
	}
	if hole {
		if err := addShift(path+".at", shift{piece.Offset, piece.Offset - at}); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(piece.Text, at); err != nil || piece.Dropped <= 0 {
		return err
	}
	note := fmt.Appendf(nil, "\n[gobench: %d more bytes were not stored]\n", piece.Dropped)
	end := at + int64(len(piece.Text))
	if _, err := f.WriteAt(note, end); err != nil {
		return err
	}
	from := piece.Offset + int64(len(piece.Text)) + piece.Dropped
	if n := len(shifts); n > 0 && shifts[n-1].from >= from {
		return nil // it is known
	}
	return addShift(path+".at", shift{from, from - end - int64(len(note))})
}

// readShifts returns the shifts stored at path in the order in which they were added; nil if
// there is no such file. It skips incomplete lines.
func readShifts(path string) (all []shift, err error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var s shift
		if _, err := fmt.Sscanf(string(line), "%d %d\n", &s.from, &s.by); err == nil && line[len(line)-1] == '\n' { // otherwise an incomplete write
			all = append(all, s)
		}
	}
	return all, nil
}

// addShift appends a shift to the file at path, which it creates if it does not exist. After
// an error an incomplete line may be left.
func addShift(path string, s shift) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if end > 0 {
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%d %d\n", s.from, s.by)
	if last[0] != '\n' { // after an incomplete write, whose line must not become a whole one
		text = "x\n" + text
	}
	_, err = f.WriteString(text)
	return err
}
