package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup writes a consistent copy of an SQLite store to a file, with mode 0600, and checks it.
// Reads and writes continue during the copy. The error wraps fs.ErrExist if the file exists;
// after an error no new file is left. A master can be started from the copy. With PostgreSQL
// it returns an error that names pg_dump.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if !s.lite {
		return fmt.Errorf("store %s: PostgreSQL makes its own backups: pg_dump --format=custom --file=%q %q, and pg_restore", s.name, path, s.name)
	}
	return BackupFile(ctx, s.name, path)
}

// BackupFile is Backup for an SQLite file, which a master may have open: it copies file to
// path. The error wraps fs.ErrNotExist if file does not exist.
func BackupFile(ctx context.Context, file, path string) (err error) {
	if _, err := os.Stat(file); err != nil { // SQLite would create it
		return fmt.Errorf("backup: %w", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return fmt.Errorf("backup to %s: %w", path, err)
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*") // mode 0600, which SQLite does not change
	if err != nil {
		return fmt.Errorf("backup to %s: %w", path, err)
	}
	defer func() {
		part.Close()
		if err != nil {
			os.Remove(part.Name())
			err = fmt.Errorf("backup to %s: %w", path, err)
		}
	}()
	db, err := sql.Open("sqlite", dataSource(file, "busy_timeout(5000)"))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, part.Name()); err != nil {
		return err
	}
	if err := check(ctx, part.Name()); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// check returns an error if an SQLite file is damaged. It reads the whole file, which must
// exist: SQLite creates a missing one.
func check(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dataSource(path, "query_only(1)"))
	if err != nil {
		return err
	}
	defer db.Close()
	var found string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return errors.New("the copy is damaged: " + found)
	}
	return nil
}
