package check_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
	"github.com/gobench-io/gobench/internal/testing/check"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// The same is found in PostgreSQL, of which the checker changes nothing.
func TestPostgres(t *testing.T) {
	t.Parallel()
	server, err := servers.StartPostgres()
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	w := newWorldIn(t, false, t.TempDir(), server.Database(t))
	if names, text := find(t, w.options()); names != nil {
		t.Errorf("found %v:\n%s", names, text)
	}
	w.exec(`DELETE FROM batches WHERE run = 1 AND executor = 0 AND seq = 9`)
	w.exec(`UPDATE runs SET state = 'failed' WHERE number = 2`)
	if names, text := find(t, w.options()); !slices.Equal(names, []string{"I3", "I7"}) {
		t.Errorf("found %v, want I3, I7:\n%s", names, text)
	}
}

// I9: a process and a folder of a run that is over are found, unless they go in time.
func TestWhatIsLeftOnTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	o := w.options()
	work, err := os.MkdirTemp("", "gbt-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	o.Host, o.Work, o.Linger = true, []string{work}, time.Millisecond
	if names, text := find(t, o); names != nil {
		t.Errorf("nothing is left, found:\n%s", text)
	}
	home := filepath.Join(work, "gobench-1", "home")
	must(t, os.MkdirAll(home, 0o700))
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"GOBENCH_BOX=mark", "HOME=" + home}
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	names, text := find(t, o)
	if !slices.Equal(names, []string{"I9"}) || !strings.Contains(text, "folder "+filepath.Dir(home)) || !strings.Contains(text, "process ") {
		t.Errorf("found %v:\n%s", names, text)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	must(t, os.RemoveAll(filepath.Dir(home)))
	if names, text := find(t, o); names != nil {
		t.Errorf("nothing is left any more, found:\n%s", text)
	}
}

// I12: a backup is checked as the store is, and the store has gone on from it.
func TestBackup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	o := w.options()
	o.Backup = filepath.Join(t.TempDir(), "copy.db")
	copyTo := func() {
		b, err := os.ReadFile(w.db) // it is not open
		must(t, err)
		must(t, os.WriteFile(o.Backup, b, 0o600))
	}
	copyTo()
	if names, text := find(t, o); names != nil {
		t.Errorf("found %v:\n%s", names, text)
	}
	backup := &world{t: t, db: o.Backup}
	backup.exec(`DELETE FROM batches WHERE run = 1 AND executor = 0 AND seq = 9`)
	if names, text := find(t, o); !slices.Equal(names, []string{"I12"}) || !strings.Contains(text, "of the backup: I3") {
		t.Errorf("found %v:\n%s", names, text)
	}
	for says, query := range map[string]string{
		"it is not in the backup, which knows of 2 runs":               `DELETE FROM runs WHERE number = 1`,
		`transition 4 of the backup, to "running", is not the store's`: `UPDATE transitions SET at = at + 1 WHERE run = 2 AND version = 4`,
		"has changed since, to version 6":                              `UPDATE runs SET version = 5 WHERE number = 1`,
		"the backup has 26 batches of executor 0 (epoch 1), more":      `UPDATE executors SET seq = 26 WHERE run = 1 AND executor = 0`,
	} {
		copyTo()
		backup.exec(query)
		if names, text := find(t, o); !slices.Equal(names, []string{"I12"}) || !strings.Contains(text, says) {
			t.Errorf("%s: found %v, want %q:\n%s", query, names, says, text)
		}
	}
	copyTo()
	must(t, os.Truncate(o.Backup, 5000))
	if names, text := find(t, o); !slices.Equal(names, []string{"I12"}) {
		t.Errorf("of a truncated backup found %v:\n%s", names, text)
	}
}

// I13: gobench show is held against the store, in each of its forms.
func TestShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	shown := t.TempDir() // what the program prints, by run and form
	program := filepath.Join(t.TempDir(), "gobench")
	must(t, os.WriteFile(program, []byte(`#!/bin/sh
[ "$GOBENCH_TOKEN" = right ] || exit 1
exec cat "`+shown+`/$2$7" # show RUN --dir HOME --master URL [--full|--json]
`), 0o700))
	print := func(result *run.Result) {
		none := func(func(run.Interval) error) error { return nil }
		for form, write := range map[string]func(io.Writer) error{
			"":       func(out io.Writer) error { return report.Text(out, result, report.Screen{}) },
			"--full": func(out io.Writer) error { return report.Text(out, result, report.Screen{Full: true}) },
			"--json": func(out io.Writer) error { return report.JSON(out, result, none) },
		} {
			var b bytes.Buffer
			must(t, write(&b))
			must(t, os.WriteFile(filepath.Join(shown, result.ID+form), b.Bytes(), 0o600))
		}
	}
	s := w.master(new(string))
	defer s.Close()
	o := w.options()
	o.API, o.Token, o.Gobench = s.URL, "right", program
	for _, r := range w.results {
		print(r)
	}
	if names, text := find(t, o); names != nil {
		t.Errorf("found %v:\n%s", names, text)
	}
	for _, tt := range []struct{ form, old, new, says string }{
		{"", " 250 ", " 251 ", `"home.http_ok" is 251, want 250`},
		{"", "12\n", "13\n", "has 13 failures, want 12"},
		{"", "home.http_ok", "home.http_bad", `a row of "home.http_bad"`},
		{"", "Totals", "Sums", "has no total"},
		{"--full", " 250 ", " 249 ", `"home.http_ok" is 249, want 250`},
		{"--json", `"count": 250`, `"count": 251`, `counter "home.http_ok" is 251, want 250`},
		{"--json", `"count": 12`, `"count": 11`, "has 11 failures, want 12"},
		{"--json", "{", "", "can't be read"},
	} {
		path := filepath.Join(shown, w.whole+tt.form)
		b, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Contains(b, []byte(tt.old)) {
			t.Fatalf("gobench show %s has no %q:\n%s", tt.form, tt.old, b)
		}
		must(t, os.WriteFile(path, bytes.Replace(b, []byte(tt.old), []byte(tt.new), 1), 0o600))
		begin := strings.TrimSpace("I13: run " + w.whole + ": gobench show " + tt.form)
		if names, text := find(t, o); !slices.Equal(names, []string{"I13"}) || !strings.HasPrefix(text, begin) || !strings.Contains(text, tt.says) {
			t.Errorf("%s %q: found %v, want %q:\n%s", tt.form, tt.new, names, tt.says, text)
		}
		print(w.results[w.whole])
	}
	o.Gobench += "x"
	if _, err := check.Check(t.Context(), o); err == nil {
		t.Error("a program that is not there is no error")
	}
}

// I13: each form in which a master shows a run is held against the store.
func TestReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	spoilt := "" // the path of what is shown wrongly
	s := w.master(&spoilt)
	defer s.Close()
	o := w.options()
	o.API, o.Token = s.URL, "right"
	if names, text := find(t, o); names != nil {
		t.Errorf("found %v:\n%s", names, text)
	}
	for _, spoilt = range []string{"/result", "format=json", "format=csv", "format=html", "format=xml"} {
		if names, text := find(t, o); !slices.Equal(names, []string{"I13"}) {
			t.Errorf("%s is wrong; found %v:\n%s", spoilt, names, text)
		}
	}
	o.Token = "wrong"
	if _, err := check.Check(t.Context(), o); err == nil {
		t.Error("a token that is refused is no error")
	}
}

// master serves the world's runs as a master does; what is asked by a path that holds
// spoilt, unless that is empty, is wrong by one.
func (w *world) master(spoilt *string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		words := strings.Split(r.URL.Path, "/")
		id := words[4]
		shown := *w.results[id]
		if r.Header.Get("Authorization") != "Bearer right" {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		intervals := slices.Clone(w.intervals[id])
		if strings.Contains(r.URL.String(), *spoilt) && *spoilt != "" {
			shown.Metrics = slices.Clone(shown.Metrics)
			n := *shown.Metrics[0].Count + 1
			shown.Metrics[0].Count = &n
			intervals = intervals[1:]
		}
		if words[5] == "result" {
			_ = json.NewEncoder(out).Encode(shown)
			return
		}
		format, _ := report.FormatOf(id + "." + r.URL.Query().Get("format"))
		_ = format.Write(out, &shown, func(yield func(run.Interval) error) error {
			for _, i := range intervals {
				if err := yield(i); err != nil {
					return err
				}
			}
			return nil
		})
	}))
}

// What cannot be read is an error, not a success.
func TestNoStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	for name, change := range map[string]func(*check.Options){
		"no file": func(o *check.Options) { o.DB += "x" },
		"no run":  func(o *check.Options) { o.Run = "20260101-000000-aaaaaa" },
		"bad ledger": func(o *check.Options) {
			must(t, os.WriteFile(filepath.Join(o.Ledgers, "a.b.0.1.batches"), []byte("?"), 0o600))
		},
	} {
		o := w.options()
		change(&o)
		if found, err := check.Check(t.Context(), o); err == nil {
			t.Errorf("%s: found %v, want an error", name, found)
		}
	}
}
