package data

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/meter"
)

// file writes a file for the test.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// userOf returns a user's context.
func userOf(ctx context.Context, class int, vui int64) (context.Context, *meter.Scope) {
	ctx, scope := meter.With(ctx, meter.New(), nil, [2]uint64{7, uint64(vui)})
	scope.Class, scope.User = class, vui
	return ctx, scope
}

// all returns the values of a column in order, to the end of the file.
func all(t *testing.T, f *Feeder, column string) (values []string) {
	t.Helper()
	for {
		row, err := f.Next(t.Context())
		if errors.Is(err, ErrEnd) {
			return values
		}
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, row.Get(column))
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		name, file, text, column string
		want                     []string
	}{
		{"plain", "a.csv", "a,b\n1,2\n3,4\n", "b", []string{"2", "4"}},
		{"no line end at the end", "a.csv", "a,b\n1,2\n3,4", "b", []string{"2", "4"}},
		{"CRLF", "a.csv", "a,b\r\n1,2\r\n3,4\r\n", "b", []string{"2", "4"}},
		{"byte order mark", "a.csv", "\uFEFFa,b\n1,2\n", "a", []string{"1"}},
		{"blank lines", "a.csv", "a,b\n\n1,2\n\r\n3,4\n\n", "a", []string{"1", "3"}},
		{"empty values", "a.csv", "a,b,c\n,,\n1,,3\n", "b", []string{"", ""}},
		{"quotes", "a.csv", "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"\",\"\"\"\"\n", "b", []string{`say "hi"`, `"`}},
		{"a line end in quotes", "a.csv", "a,b\n\"one\ntwo\",2\n3,4\n", "a", []string{"one\ntwo", "3"}},
		{"a quoted name", "a.csv", "\"a b\",c\n1,2\n", "a b", []string{"1"}},
		{"tabs", "a.tsv", "a\tb\n1,5\t2\n", "a", []string{"1,5"}},
		{"UTF-8", "a.csv", "a,b\nZürich,東京\n", "b", []string{"東京"}},
		{"JSON", "a.jsonl", `{"a":"x","b":2}` + "\n" + `{"b":[1,{"a":"no"}],"a":"y"}` + "\n", "a", []string{"x", "y"}},
		{"JSON that is no string", "a.jsonl", `{"b": {"a": [1, "}"]} , "a" : -1.5e3 }` + "\n" + `{"a":[true, null]}` + "\n" + `{"a":null}`, "a", []string{"-1.5e3", "[true, null]", "null"}},
		{"JSON escapes", "a.jsonl", `{"x\"y":1,"\u0061":"tab\there \"q\" \ud83d\ude00"}`, "a", []string{"tab\there \"q\" 😀"}},
		{"JSON without the key", "a.jsonl", `{"b":1}` + "\n\n" + `{}` + "\n", "a", []string{"", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := open(file(t, tt.file, tt.text))
			if got := all(t, f, tt.column); !slices.Equal(got, tt.want) {
				t.Errorf("%s is %q, want %q", tt.column, got, tt.want)
			}
		})
	}
}

// open declares a file; the format follows from its extension.
func open(path string, options ...Options) *Feeder {
	if filepath.Ext(path) == ".jsonl" {
		return JSONLines(path, options...)
	}
	return CSV(path, options...)
}

// An error in a file is reported with its line before any row is returned.
func TestBadFiles(t *testing.T) {
	long := strings.Repeat("x", maxRecord+1)
	for _, tt := range []struct{ name, file, text, want string }{
		{"empty", "a.csv", "", "a.csv:0: the file is empty"},
		{"only names", "a.csv", "a,b\n", "a.csv: it has no rows"},
		{"too few", "a.csv", "a,b\n1,2\n3\n5,6\n", "a.csv:3: 1 columns, but the first row names 2"},
		{"too many, after a row of two lines", "a.csv", "a,b\n\"1\n1\",2\n3,4,5\n", "a.csv:4: 3 columns"},
		{"quoted too many", "a.csv", "a,b\n\"1\",2,3\n", "a.csv:2: 3 columns"},
		{"a quote in a value", "a.csv", "a,b\n1,2\"\"\n", `a.csv:2: column 2: a quote inside a value: quote the whole value`},
		{"after a quote", "a.csv", "a,b\n\"1\"2,3\n", `a.csv:2: column 1: a quote inside a value: write it as ""`},
		{"an open quote", "a.csv", "a,b\n1,2\n3,\"4\n5,6\n", "a.csv:3: column 2: a quote that is not closed"},
		{"an open quote in a large file", "a.csv", "a,b\n1,\"2\n" + strings.Repeat("5,6\n", maxRecord/2), "a.csv:2: a row longer than"},
		{"a long row", "a.csv", "a\n1\n" + long + "\n", "a.csv:3: a row longer than"},
		{"same name", "a.csv", "a,b,a\n1,2,3\n", `a.csv:1: two columns are called "a"`},
		{"no name", "a.csv", "a,,b\n1,2,3\n", `a.csv:1: the name of column 2 is ""`},
		{"not an object", "a.jsonl", "{}\n[1]\n", "a.jsonl:2: want a JSON object on each line"},
		{"not JSON", "a.jsonl", "{}\n\n{\"a\":}\n", "a.jsonl:3: not JSON: invalid character '}'"},
		{"two objects", "a.jsonl", "{} {}\n", "a.jsonl:1: not JSON"},
		{"over two lines", "a.jsonl", "{\n}\n", "a.jsonl:1: not JSON: unexpected end"},
		{"no objects", "a.jsonl", "\n\n", "a.jsonl: it has no rows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := open(file(t, tt.file, tt.text)).Next(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("absent", func(t *testing.T) {
		_, err := CSV("absent.csv").Next(t.Context())
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "data file: open absent.csv") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		_, err := CSV(t.TempDir()).Next(t.Context())
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an unknown column", func(t *testing.T) {
		row, err := CSV(file(t, "a.csv", "user,pass\n1,2\n")).Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if p := fmt.Sprint(recover()); !strings.Contains(p, `no column "usr": there are ["user" "pass"]`) {
				t.Errorf("panic %q", p)
			}
		}()
		row.Get("usr")
	})
}

// numbers returns a file of n rows that contain their own number.
func numbers(t testing.TB, n int) string {
	var b strings.Builder
	b.WriteString("n,pad\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%s\n", i, "xxxxxxxxxxxxxxxx"[:i%17])
	}
	return file(t, "n.csv", b.String())
}

// Many concurrent users get each row once, and at the end all get ErrEnd.
func TestSequentialGivesEachRowOnce(t *testing.T) {
	const rows, users = 20_000, 50
	f := CSV(numbers(t, rows))
	var given [rows]atomic.Int32
	var ends atomic.Int32
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			ctx, scope := userOf(t.Context(), 0, int64(i))
			scope.OnEnd = func(string) { ends.Add(1) }
			var row Row
			for {
				err := f.Read(ctx, &row)
				if errors.Is(err, ErrEnd) {
					if !scope.Exhausted() {
						t.Error("the user's scope does not know")
					}
					return
				}
				if err != nil || row.Get("n") != fmt.Sprint(row.Number()) {
					t.Errorf("row %d has n %q, error %v", row.Number(), row.Get("n"), err)
					return
				}
				given[row.Number()].Add(1)
			}
		})
	}
	wg.Wait()
	for n := range given {
		if given[n].Load() != 1 {
			t.Fatalf("row %d was given %d times", n, given[n].Load())
		}
	}
	if ends.Load() != users {
		t.Errorf("%d of %d users were told of the end", ends.Load(), users)
	}
}

func TestWrap(t *testing.T) {
	f := CSV(numbers(t, 3), Options{Wrap: true})
	var got []string
	for range 8 {
		row, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row.Get("n"))
	}
	if s := strings.Join(got, ""); s != "01201201" {
		t.Errorf("rows %s", s)
	}
}

// With more rows than an index has places, each row is still found, and all are equally likely.
func TestRandomIsUniformAndRepeats(t *testing.T) {
	const rows, picks, bins = 700_000, 20_000, 50
	path := numbers(t, rows)
	f := CSV(path, Options{Order: Random})
	pick := func(vui int64) (got []int64) {
		ctx, _ := userOf(t.Context(), 0, vui)
		var row Row
		for range picks {
			if err := f.Read(ctx, &row); err != nil {
				t.Fatal(err)
			}
			if row.Get("n") != fmt.Sprint(row.Number()) {
				t.Fatalf("row %d has n %s", row.Number(), row.Get("n"))
			}
			got = append(got, row.Number())
		}
		return got
	}
	first := pick(1)
	if len(f.index.at) > maxPlaces || f.index.step != 4 {
		t.Errorf("the index has %d places, every %d rows", len(f.index.at), f.index.step)
	}
	if !slices.Equal(first, pick(1)) {
		t.Error("the same user does not pick the same rows again")
	}
	if slices.Equal(first, pick(2)) {
		t.Error("two users pick the same rows")
	}
	var counts [bins]float64
	for _, n := range first {
		counts[n*bins/rows]++
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - picks/bins) * (n - picks/bins) / (picks / bins)
	}
	if chi > 94.6 { // 49 degrees of freedom, p = 0.0001; the seed is fixed
		t.Errorf("chi-square %.1f", chi)
	}
}

func TestUnique(t *testing.T) {
	path := numbers(t, 10)
	f := CSV(path, Options{Order: Unique})
	for vui := range int64(10) {
		ctx, _ := userOf(t.Context(), 3, vui)
		for range 2 {
			row, err := f.Next(ctx)
			if err != nil || row.Get("n") != fmt.Sprint(vui) {
				t.Errorf("user %d has row %s, error %v", vui, row.Get("n"), err)
			}
		}
	}
	ctx, _ := userOf(t.Context(), 3, 10)
	if _, err := f.Next(ctx); err == nil || !strings.Contains(err.Error(), "has 10 rows, none for user 10") {
		t.Errorf("user 10: error %v", err)
	}
	ctx, _ = userOf(t.Context(), 4, 0)
	if _, err := f.Next(ctx); err == nil || !strings.Contains(err.Error(), "two classes") {
		t.Errorf("another class: error %v", err)
	}
	if _, err := f.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "no user's") {
		t.Errorf("no user: error %v", err)
	}
	wrap := CSV(path, Options{Order: Unique, Wrap: true})
	ctx, _ = userOf(t.Context(), 0, 23)
	if row, err := wrap.Next(ctx); err != nil || row.Number() != 3 {
		t.Errorf("user 23 of 10 rows has row %d, error %v", row.Number(), err)
	}
}

func TestColumns(t *testing.T) {
	if got, err := CSV(file(t, "a.csv", "a,\"b c\"\n")).Columns(); err != nil || !slices.Equal(got, []string{"a", "b c"}) {
		t.Errorf("columns %q, error %v", got, err)
	}
	if got, err := JSONLines(file(t, "a.jsonl", "{}")).Columns(); err != nil || got != nil {
		t.Errorf("columns %q, error %v", got, err)
	}
}

// Relative names start in the scenario's folder.
func TestScenarioDir(t *testing.T) {
	t.Setenv(DirEnv, filepath.Dir(file(t, "near.csv", "a\n1\n")))
	if n, err := CSV("near.csv").Rows(t.Context()); n != 1 || err != nil {
		t.Errorf("%d rows, error %v", n, err)
	}
}

// If a file shrinks while it is used, that is an error.
func TestFileChanges(t *testing.T) {
	path := numbers(t, 100_000)
	f := CSV(path)
	if _, err := f.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := f.Next(t.Context())
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "has changed while it was used") {
			t.Errorf("error %v", err)
		}
		return
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	csv := numbers(t, 1000)
	lines := file(t, "a.jsonl", strings.Repeat(`{"pad":"xx","n":"12"}`+"\n", 1000))
	for _, tt := range []struct {
		name string
		f    *Feeder
	}{
		{"sequential", CSV(csv, Options{Wrap: true})},
		{"random", CSV(csv, Options{Order: Random})},
		{"unique", CSV(csv, Options{Order: Unique})},
		{"JSON", JSONLines(lines, Options{Wrap: true})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, _ := userOf(t.Context(), 0, 5)
			row := Row{text: make([]byte, 0, 64)}
			b := make([]byte, 0, 64)
			call := func() {
				if err := tt.f.Read(ctx, &row); err != nil {
					t.Fatal(err)
				}
				b = row.Append(b[:0], "n")
			}
			call()
			if n := testing.AllocsPerRun(2000, call); n > 0 && !raced {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestCancelWhileReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := CSV(numbers(t, 10)).open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	path := numbers(b, 100_000)
	for _, order := range []Order{Sequential, Random, Unique} {
		b.Run(order.String(), func(b *testing.B) {
			f := CSV(path, Options{Order: order, Wrap: true})
			ctx, _ := userOf(b.Context(), 0, rand.Int64N(1000))
			var row Row
			for b.Loop() {
				if err := f.Read(ctx, &row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScan measures reading a file before the load.
func BenchmarkScan(b *testing.B) {
	for name, line := range map[string]string{
		"a.csv":   "alice@example.com,s3cret-password,Alice Example,1970-01-01,42\n",
		"q.csv":   "\"alice@example.com\",\"s3cret, password\",\"Alice Example\",1970-01-01,42\n",
		"a.jsonl": `{"user":"alice@example.com","password":"s3cret-password","id":42}` + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			head := "a,b,c,d,e\n"
			if filepath.Ext(name) == ".jsonl" {
				head = ""
			}
			path := file(b, name, head+strings.Repeat(line, 200_000))
			b.SetBytes(int64(len(line)) * 200_000)
			for b.Loop() {
				if _, err := open(path).Rows(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
