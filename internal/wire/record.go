package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run"
)

// RecordsHead begins every file of records that is written now. docs/formats/run.md describes
// the rest.
const RecordsHead = "gobench batches 2\n"

// recordsHead1 begins files whose batches declare metrics without roles.
const recordsHead1 = "gobench batches 1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrRecord is wrapped by the errors about damaged records.
var ErrRecord = errors.New("damaged record of a batch")

// AppendRecord appends a batch of an executor to b in the form that ReadRecord reads
// (executor, length, the batch, and a checksum of all three) and returns the extended slice,
// like append. After an error it returns b unchanged. It does not check what ReadRecord
// refuses: an executor that is not 0 to 1<<20, a batch larger than MaxMessage.
func AppendRecord(b []byte, executor int, batch *Batch) ([]byte, error) {
	body, err := proto.Marshal(batch)
	if err != nil {
		return b, err
	}
	begin := len(b)
	b = binary.AppendUvarint(b, uint64(executor))
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[begin:], castagnoli)), nil
}

// Records reads a file of records.
type Records struct {
	in    *bufio.Reader
	roles bool // metrics have their roles
}

// OpenRecords reads the head of a file of records. The error wraps ErrRecord if in begins
// otherwise or can't be read. The caller must not use in any more.
func OpenRecords(in *bufio.Reader) (*Records, error) {
	head := make([]byte, len(RecordsHead))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != RecordsHead && string(head) != recordsHead1 {
		return nil, fmt.Errorf("%w: the file begins with %q, want %q", ErrRecord, head, RecordsHead)
	}
	return &Records{in, string(head) == RecordsHead}, nil
}

// Next reads one record and returns the executor's number and its batch. It returns io.EOF at
// the end of the file, io.ErrUnexpectedEOF when it ends within a record, and an error that
// wraps ErrRecord when the record's head, the checksum or the batch is wrong or the record is
// larger than MaxMessage; another error of the file may not wrap it. After an error the
// reader's position is undefined. Metrics of an older file get their roles.
func (r *Records) Next() (executor int, batch *Batch, err error) {
	executor, batch, err = readRecord(r.in)
	if err == nil && !r.roles {
		for _, d := range batch.Declared {
			d.SetCounts(run.Counts1(d.Title, run.MetricType(d.Type), d.Group))
		}
	}
	return executor, batch, err
}

// readRecord implements Next without the roles of an older file.
func readRecord(in *bufio.Reader) (executor int, batch *Batch, err error) {
	e, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, nil, recordError(err)
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, nil, recordError(unexpected(err))
	}
	if n > MaxMessage || e > 1<<20 {
		return 0, nil, fmt.Errorf("%w: executor %d, %d bytes", ErrRecord, e, n)
	}
	body := make([]byte, n+4)
	if _, err := io.ReadFull(in, body); err != nil {
		return 0, nil, unexpected(err)
	}
	head := binary.AppendUvarint(binary.AppendUvarint(nil, e), n)
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, body[:n])
	if binary.LittleEndian.Uint32(body[n:]) != sum {
		return 0, nil, fmt.Errorf("%w: its checksum is wrong", ErrRecord)
	}
	batch = new(Batch)
	if err := proto.Unmarshal(body[:n], batch); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return int(e), batch, nil
}

// unexpected returns io.ErrUnexpectedEOF for io.EOF, which means the end within a record, and
// any other error unchanged.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// recordError wraps err with ErrRecord, unless it is that in has ended.
func recordError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRecord, err)
}
