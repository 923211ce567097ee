package scripts

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// openZstd opens a compressed file of testdata.
func openZstd(ts *testscript.TestScript, name string) (r io.Reader, closeAll func()) {
	f, err := os.Open(name)
	ts.Check(err)
	d, err := zstd.NewReader(f)
	ts.Check(err)
	return d, func() {
		d.Close()
		f.Close()
	}
}

// unpack writes the files of a .tar.zst into a folder: unpack FILE FOLDER.
func unpack(ts *testscript.TestScript, _ bool, args []string) {
	in, closeAll := openZstd(ts, ts.MkAbs(args[0]))
	defer closeAll()
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o700))
	root, err := os.OpenRoot(dir)
	ts.Check(err)
	defer root.Close()
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		if h.FileInfo().IsDir() {
			ts.Check(root.MkdirAll(filepath.Clean(h.Name), 0o700))
			continue
		}
		b, err := io.ReadAll(t)
		ts.Check(err)
		ts.Check(root.WriteFile(h.Name, b, 0o600))
	}
}

// restore starts a PostgreSQL with the data of a compressed dump, and puts its URL into a
// variable: restore VARIABLE DUMP.
func restore(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testKey{}).(testing.TB)
	in, closeAll := openZstd(ts, ts.MkAbs(args[1]))
	defer closeAll()
	s := servers.Postgres(t)
	url := s.Database(t)
	ts.Check(s.Restore(url, in))
	ts.Setenv(args[0], url)
}

// agree checks that two results of a run have the same name, state, verdict, errors and figures
// of each metric. Fields that only one of them has are ignored: agree OLD NEW.
func agree(ts *testscript.TestScript, _ bool, args []string) {
	type result struct {
		ID, Name, State, Verdict, Cause string
		Metrics                         []map[string]any
		Errors                          []map[string]any
	}
	var old, now result
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &old))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &now))
	if old.ID != now.ID || old.Name != now.Name || old.State != now.State || old.Verdict != now.Verdict || old.Cause != now.Cause {
		ts.Fatalf("%s has %s %s %s %s %s, %s has %s %s %s %s %s", args[0], old.ID, old.Name, old.State, old.Verdict, old.Cause,
			args[1], now.ID, now.Name, now.State, now.Verdict, now.Cause)
	}
	sameFigures(ts, args, []string{"title"}, old.Metrics, now.Metrics)
	sameFigures(ts, args, []string{"source", "class", "text"}, old.Errors, now.Errors)
}

// sameFigures checks that each row of old is in now, with the same numbers and texts. The fields
// of key identify a row.
func sameFigures(ts *testscript.TestScript, files, key []string, old, now []map[string]any) {
	name := func(row map[string]any) (s string) {
		for _, k := range key {
			s += fmt.Sprint(row[k], " ")
		}
		return s
	}
	rows := map[string]map[string]any{}
	for _, row := range now {
		rows[name(row)] = row
	}
	for _, row := range old {
		other, ok := rows[name(row)]
		if !ok {
			ts.Fatalf("%s has no %s, which %s has", files[1], name(row), files[0])
		}
		for field, value := range row {
			switch value.(type) {
			case string, float64:
				if other[field] != value {
					ts.Fatalf("%s of %s is %v in %s and %v in %s", field, name(row), value, files[0], other[field], files[1])
				}
			}
		}
	}
}
