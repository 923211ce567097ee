package executor

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/wire"
)

// ledgerEnv names the variable that names a folder in which an executor keeps an account
// of its own of what it counts: tests hold what a master has kept against it.
const ledgerEnv = "GOBENCH_LEDGER"

// ledger is an executor's own account: a file of records as docs/formats/run.md describes
// them, one for each batch, written before the batch is sent. It is for one goroutine. A
// nil one keeps none.
type ledger struct {
	file     *os.File
	executor int
	broken   bool
}

// openLedger makes the ledger of an executor of a run, where one is asked for.
func openLedger(folder string, start *wire.Start) (*ledger, error) {
	if folder == "" {
		return nil, nil
	}
	name := fmt.Sprintf("%s.%d.%d.batches", start.Run, start.Executor, os.Getpid())
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the executor's ledger: %w", err)
	}
	if _, err := f.WriteString(wire.RecordsHead); err != nil {
		f.Close()
		return nil, fmt.Errorf("write the executor's ledger: %w", err)
	}
	return &ledger{file: f, executor: int(start.Executor)}, nil
}

// add writes a batch, whose record survives the process in whatever way it ends then. A
// ledger that can't be written ends there, which who reads it sees, and the run goes on.
func (l *ledger) add(b *wire.Batch) {
	if l == nil || l.broken {
		return
	}
	record, err := wire.AppendRecord(nil, l.executor, b)
	if err == nil {
		_, err = l.file.Write(record)
	}
	if err != nil {
		l.broken = true
		fmt.Fprintln(os.Stderr, "gobench executor: write the ledger:", err)
	}
}

func (l *ledger) close() {
	if l != nil {
		l.file.Close()
	}
}
