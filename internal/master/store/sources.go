package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
)

// Kinds of the files of a source.
const (
	kindScenario = "scenario"
	kindMod      = "go.mod"
	kindSum      = "go.sum"
	kindFile     = "file"
	kindPrivate  = "private"
)

// file is a file of a source in its stored form.
type file struct {
	kind, path, hash string
	data             []byte
}

// putSource stores a source and returns its hash, hexadecimal. Sources and files that are
// stored already are shared. The error is a *run.InputError for a name that can't be stored.
func (t *tx) putSource(source run.Source) (string, error) {
	if !utf8.ValidString(source.File) || strings.ContainsRune(source.File, 0) {
		return "", &run.InputError{Field: "source.file", Text: "a name must be UTF-8 without NUL"}
	}
	files := []file{{kind: kindScenario, path: source.File, data: []byte(source.Scenario)}}
	if source.GoMod != "" {
		files = append(files, file{kind: kindMod, data: []byte(source.GoMod)})
	}
	if source.GoSum != "" {
		files = append(files, file{kind: kindSum, data: []byte(source.GoSum)})
	}
	for _, f := range source.Files {
		if !utf8.ValidString(f.Path) || strings.ContainsRune(f.Path, 0) {
			return "", &run.InputError{Field: "source.files", Text: "a path must be UTF-8 without NUL"}
		}
		kind := kindFile
		if f.Private {
			kind = kindPrivate
		}
		files = append(files, file{kind: kind, path: f.Path, data: f.Data})
	}
	all := sha256.New()
	for i := range files {
		f := &files[i]
		sum := sha256.Sum256(f.data)
		f.hash = hex.EncodeToString(sum[:])
		for _, text := range []string{f.kind, f.path, f.hash} {
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(text)))
			all.Write(n[:])
			all.Write([]byte(text))
		}
	}
	hash := hex.EncodeToString(all.Sum(nil))
	added, err := t.exec(`INSERT INTO sources (hash) VALUES ($1) ON CONFLICT DO NOTHING`, hash)
	if err != nil || added == 0 {
		return hash, err
	}
	for i, f := range files {
		var there int
		ok, err := t.one(`SELECT 1 FROM blobs WHERE hash = $1`, []any{f.hash}, &there)
		if err != nil {
			return "", err
		}
		if !ok {
			if err := t.run(`INSERT INTO blobs (hash, data) VALUES ($1, $2)`, f.hash, t.s.zip.Pack(f.data)); err != nil {
				return "", err
			}
		}
		if err := t.run(`INSERT INTO source_files (source, place, kind, path, blob) VALUES ($1, $2, $3, $4, $5)`,
			hash, i, f.kind, f.path, f.hash); err != nil {
			return "", err
		}
	}
	return hash, nil
}

// source returns the source whose hash query, an SQL query with $1 for id, selects. what names
// the owner in errors; without such a source the error wraps run.ErrNotFound. With an error
// the source is incomplete.
func (s *Store) source(ctx context.Context, what, query, id string) (run.Source, error) {
	var source run.Source
	there := false
	err := s.each(ctx, s.r, `SELECT f.kind, f.path, b.data FROM source_files f JOIN blobs b ON b.hash = f.blob
		WHERE f.source = (`+query+`) ORDER BY f.place`, []any{id}, func(scan func(...any) error) error {
		there = true
		var kind, path string
		var packed []byte
		if err := scan(&kind, &path, &packed); err != nil {
			return err
		}
		data, err := s.zip.Unpack(packed)
		if err != nil {
			return err
		}
		switch kind {
		case kindScenario:
			source.Scenario, source.File = string(data), path
		case kindMod:
			source.GoMod = string(data)
		case kindSum:
			source.GoSum = string(data)
		default:
			source.Files = append(source.Files, run.File{Path: path, Data: data, Private: kind == kindPrivate})
		}
		return nil
	})
	if err == nil && !there {
		err = missing(what)
	}
	return source, err
}

// dropSources deletes those of the sources that no run or application refers to any more, and
// all files that no source has. Call it after what referred to them was changed or deleted.
func (t *tx) dropSources(hashes ...string) error {
	for _, hash := range hashes {
		n, err := t.exec(`DELETE FROM source_files WHERE source = $1
			AND NOT EXISTS (SELECT 1 FROM runs WHERE source = $1) AND NOT EXISTS (SELECT 1 FROM applications WHERE source = $1)`, hash)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := t.run(`DELETE FROM sources WHERE hash = $1`, hash); err != nil {
			return err
		}
	}
	return t.run(`DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM source_files f WHERE f.blob = blobs.hash)`)
}
