package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// ledgerEnv tells the executor where it keeps an account of its own; it is
// executor.ledgerEnv.
const ledgerEnv = "GOBENCH_LEDGER"

// ledgerFolder is that in the working folder of a run's processes.
const ledgerFolder = ".gobench-ledgers"

// openLedgers makes the folder for the ledgers of a box's executors, if they are wanted,
// and gives the environment that names it.
func (a *Agent) openLedgers(box *sandbox.Box) ([]string, error) {
	if a.o.Ledgers == "" {
		return nil, nil
	}
	dir := filepath.Join(box.Home(), ledgerFolder)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make a folder for ledgers: %w", err)
	}
	if err := box.Give(dir); err != nil {
		return nil, fmt.Errorf("make a folder for ledgers: %w", err)
	}
	return []string{ledgerEnv + "=" + dir}, nil
}

// keepLedgers copies the ledgers out of the box of a run whose processes are dead, under
// the agent's name, and notes the box's mark, by which what it leaves is known. What was
// copied before is copied again.
func (a *Agent) keepLedgers(run string, box *sandbox.Box) error {
	if a.o.Ledgers == "" {
		return nil
	}
	root, err := os.OpenRoot(filepath.Join(box.Home(), ledgerFolder)) // it was others': links lead nowhere
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep the ledgers: %w", err)
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), "*.batches")
	err = errors.Join(err, os.WriteFile(filepath.Join(a.o.Ledgers, a.o.ID+"."+run+"."+box.Mark+".box"), nil, 0o600))
	for _, name := range names {
		err = errors.Join(err, a.keepLedger(root, name))
	}
	if err != nil {
		return fmt.Errorf("keep the ledgers: %w", err)
	}
	return nil
}

func (a *Agent) keepLedger(root *os.Root, name string) error {
	from, err := root.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp(a.o.Ledgers, ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name()) // not there any more when all went well
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(to.Name(), filepath.Join(a.o.Ledgers, a.o.ID+"."+name))
}
