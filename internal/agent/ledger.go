package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/run/system"
)

// ledgerEnv names the environment variable with the folder of the executor's ledger, its
// own account of what it counts. It equals executor.ledgerEnv.
const ledgerEnv = "GOBENCH_LEDGER"

// ledgerFolder is the folder for ledgers in the working folder of a run's processes.
const ledgerFolder = ".gobench-ledgers"

// openLedgers creates the folder for the ledgers of a sandbox's executors, unless it
// exists, and returns the environment, NAME=VALUE, that names it. It returns nil, and
// creates nothing, if the agent does not collect ledgers.
func (a *Agent) openLedgers(box *sandbox.Box) ([]string, error) {
	if a.o.Ledgers == "" {
		return nil, nil
	}
	dir := filepath.Join(box.Home(), ledgerFolder)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make a folder for ledgers: %w", err)
	}
	if err := box.Chown(dir); err != nil {
		return nil, fmt.Errorf("make a folder for ledgers: %w", err)
	}
	return []string{ledgerEnv + "=" + dir}, nil
}

// copyLedgers copies the ledgers of a run, whose processes have ended, out of its sandbox;
// it returns nil if the agent does not collect them or the sandbox has no folder of them.
// The names of the copies begin with the agent's id. An empty file beside them names the
// sandbox's mark, which identifies what the sandbox leaves behind. It may be called twice
// for a run. The error joins those of all ledgers: one that fails does not prevent the
// others.
func (a *Agent) copyLedgers(run string, box *sandbox.Box) error {
	if a.o.Ledgers == "" {
		return nil
	}
	root, err := os.OpenRoot(filepath.Join(box.Home(), ledgerFolder)) // it was writable by executors: links out of it are not followed
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy the ledgers: %w", err)
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), "*.batches")
	err = errors.Join(err, os.WriteFile(filepath.Join(a.o.Ledgers, a.o.ID+"."+run+"."+box.Mark+".box"), nil, 0o600))
	for _, name := range names {
		err = errors.Join(err, a.copyLedger(root, name))
	}
	if err != nil {
		return fmt.Errorf("copy the ledgers: %w", err)
	}
	return nil
}

// copyLedger copies the ledger name from root to Options.Ledgers, where it replaces a previous
// copy. On an error no partial copy is left. name must be a plain file name, and
// Options.Ledgers exist.
func (a *Agent) copyLedger(root *os.Root, name string) error {
	from, err := root.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	return system.Replace(filepath.Join(a.o.Ledgers, a.o.ID+"."+name), func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}
