package executor

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/wire"
)

// ledgerEnv is the environment variable with the folder in which an executor stores its own
// copy of what it counts. Tests compare it with what a master has stored.
const ledgerEnv = "GOBENCH_LEDGER"

// ledger is an executor's own copy of its batches: a file of the records that
// docs/formats/run.md describes, each written before its batch is sent. It is for one
// goroutine. A nil ledger stores nothing, and its methods do nothing.
type ledger struct {
	file     *os.File
	executor int
	broken   bool
}

// openLedger creates the ledger of an executor: the file RUN.EXECUTOR.PID.batches in folder.
// It returns nil and no error if folder is empty, and an error if the file exists already or
// can't be written. The caller must close the ledger.
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

// add writes a batch, whose record survives even if the process is killed. After a write
// error, which it prints on the standard error, the ledger takes no more batches, which its
// reader notices, and the run continues.
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
