package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// forPostgres translates the SQL of migrations to PostgreSQL.
var forPostgres = strings.NewReplacer(
	" BLOB", " BYTEA",
	"INTEGER NOT NULL PRIMARY KEY", "BIGINT NOT NULL PRIMARY KEY",
	") WITHOUT ROWID;", ");",
)

// migrate updates the schema to the newest version; s.w must be open. If there is an older
// schema, it first calls before with its version, whose error ends it. It returns an error of
// kind Newer if the schema is newer than this program. Each change is a transaction: after an
// error those before stay.
func (s *Store) migrate(ctx context.Context, before func(ctx context.Context, version int64) error) error {
	steps, newest, err := s.steps()
	if err != nil {
		return err
	}
	version, err := s.schema(ctx)
	switch {
	case err != nil:
		return s.failed(err)
	case version == newest:
		return nil
	case version > newest:
		copied := "the copy that it made of the file before it changed it"
		if !s.lite {
			copied = "by pg_restore what pg_dump had copied before"
		}
		return &Error{Kind: Newer, Name: s.name, Text: fmt.Sprintf(
			"its schema has version %d and this gobench knows versions up to %d: start the newer gobench again, or put back %s", version, newest, copied)}
	case version > 0:
		if err := before(ctx, version); err != nil {
			return err
		}
	}
	dialect := goose.DialectPostgres
	if s.lite {
		dialect = goose.DialectSQLite3
	}
	p, err := goose.NewProvider(dialect, s.w, nil, goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("store %s: %w", s.name, err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("store %s: change the schema from version %d to %d: %w", s.name, version, newest, s.failed(err))
	}
	return nil
}

// steps returns all changes of the schema, in the engine's SQL, and the newest version. Each
// is a file NUMBER_name.sql and runs in a transaction.
func (s *Store) steps() (steps []*goose.Migration, newest int64, err error) {
	names, err := fs.Glob(s.options.tests.migrations, "migrations/*.sql")
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, 0, err
		}
		text, err := fs.ReadFile(s.options.tests.migrations, name)
		if err != nil {
			return nil, 0, err
		}
		query := string(text)
		if !s.lite {
			query = forPostgres.Replace(query)
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, t *sql.Tx) error {
			_, err := t.ExecContext(ctx, query)
			return err
		}}, nil))
		newest = max(newest, version)
	}
	return steps, newest, nil
}

// schema returns the version of the stored schema, or 0 for an empty database.
func (s *Store) schema(ctx context.Context) (version int64, err error) {
	query := `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'`
	if !s.lite {
		query = `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'goose_db_version'`
	}
	var n int
	if err := s.w.QueryRowContext(ctx, query).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	err = s.w.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`).Scan(&version)
	return version, err
}
