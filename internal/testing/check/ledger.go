package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/agent/budget"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// account is an executor's ledger: what it counted, in batches.
type account struct {
	agent    string
	executor int
	file     string
	batches  []*wire.Batch
	sent     []*wire.Batch  // as its agent sends them: the same, or gathered
	titles   []*wire.Metric // by the executor's own numbers
}

// readLedgers reads the ledgers in a folder, by run; of one run only if Options.Run is set. A
// folder that is not there has no ledgers. The last record of each may be truncated, because
// an executor may be killed while it writes; any other damage is an error.
func (c *checker) readLedgers(folder string) (map[string][]*account, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.batches"))
	if err != nil {
		return nil, err
	}
	codec, err := compress.New(wire.MaxMessage)
	if err != nil {
		return nil, err
	}
	all := map[string][]*account{}
	for _, file := range files {
		words := strings.Split(filepath.Base(file), ".") // AGENT.RUN.EXECUTOR.PID.batches
		if len(words) != 5 {
			return nil, fmt.Errorf("ledger %s: its name is not AGENT.RUN.EXECUTOR.PID.batches", file)
		}
		number, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, fmt.Errorf("ledger %s: %w", file, err)
		}
		a := &account{agent: words[0], executor: number, file: filepath.Base(file)}
		if err := a.read(file, codec); err != nil {
			return nil, fmt.Errorf("ledger %s: %w", file, err)
		}
		if c.o.Run == "" || words[1] == c.o.Run {
			all[words[1]] = append(all[words[1]], a)
		}
	}
	return all, nil
}

// read reads the batches of a, whose executor is set and which has none yet, from a file, up
// to its end or a truncated record. Batches that do not follow each other are an error; those
// before stay in a.
func (a *account) read(file string, codec *compress.Codec) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := wire.OpenRecords(bufio.NewReader(f))
	if err != nil {
		return err
	}
	limiter := budget.New(codec)
	for to := int64(-1); ; {
		executor, b, err := records.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		case executor != a.executor:
			return fmt.Errorf("a record is of executor %d", executor)
		case b.Seq != uint64(len(a.batches))+1:
			return fmt.Errorf("batch %d follows %d batches", b.Seq, len(a.batches))
		case to >= 0 && b.FromNs != to || b.ToNs <= b.FromNs:
			return fmt.Errorf("batch %d is from %d to %d ns, and the one before ends at %d", b.Seq, b.FromNs, b.ToNs, to)
		case len(a.batches) > 0 && a.batches[len(a.batches)-1].Final != nil:
			return errors.New("a batch follows the final one")
		case len(b.Declared) > 0 && int(b.First) != len(a.titles):
			return fmt.Errorf("batch %d declares metrics from %d on, and %d are known", b.Seq, b.First, len(a.titles))
		}
		if !b.More {
			to = b.ToNs
		}
		a.titles = append(a.titles, b.Declared...)
		a.batches = append(a.batches, b)
		sent, err := limiter.Batch(b)
		if err != nil {
			return err
		}
		a.sent = append(a.sent, sent.Batch)
	}
}

// upTo adds the batches up to number seq to sums: to.whole receives all of them as they were
// sent, to.measured those after the warm-up, as they were counted if exact, else as they were
// sent. An error leaves part of them added. Call read before.
func (a *account) upTo(seq uint64, exact bool, to *sums) error {
	for i, b := range a.sent {
		if b.Seq > seq {
			return nil
		}
		err := to.whole.add(b, a.titles)
		if exact {
			b = a.batches[i]
		}
		if !b.Warmup {
			err = errors.Join(err, to.measured.add(b, a.titles))
		}
		if err != nil {
			return fmt.Errorf("batch %d of ledger %s: %w", b.Seq, a.file, err)
		}
	}
	return nil
}
