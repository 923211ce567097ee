package data

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Accepted CSV means the same to encoding/csv.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\n\"x\"\"\ny\"\n", "a,b\r\n\"1\",\n", "\n\na\n\n1\n", "a,b\n1,\"\n", "\"\"\n1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "f.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		feeder := CSV(path)
		rows, err := feeder.Rows(t.Context())
		defer feeder.file.Close()
		if err != nil {
			return
		}
		want, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\uFEFF"))).ReadAll()
		if err != nil {
			t.Fatalf("taken, but encoding/csv says %v", err)
		}
		if int64(len(want)) != rows+1 {
			t.Fatalf("%d rows, encoding/csv has %d", rows, len(want)-1)
		}
		for _, values := range want[1:] {
			row, err := feeder.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range feeder.format.columns() {
				// encoding/csv makes \r\n in quotes \n; here values are as written.
				if got := strings.ReplaceAll(row.Get(name), "\r\n", "\n"); got != values[i] {
					t.Fatalf("%s of row %d is %q, encoding/csv has %q", name, row.Number(), got, values[i])
				}
			}
		}
	})
}

// The strings at the first level of any accepted object can be read.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"a":[{"b":"\""}],"b":1}`, `{ "" : { } }`, `{"a\\":"\u0041","b":-0.1}`} {
		f.Add(s, "b")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		record := []byte(strings.TrimSpace(text))
		if len(record) == 0 || !utf8.Valid(record) || !utf8.ValidString(key) || (jsonFormat{}).check(record) != nil {
			return // encoding/json replaces invalid UTF-8
		}
		got, found := jsonFormat{}.appendValue(nil, record, key)
		var object map[string]json.RawMessage
		if err := json.Unmarshal(record, &object); err != nil {
			t.Fatal(err)
		}
		want, is := object[key]
		if found != is {
			t.Fatalf("found %v, want %v", found, is)
		}
		if !found || strings.Count(text, ":") > 1 { // of a repeated key we return the first value, encoding/json the last
			return
		}
		var value any
		if err := json.Unmarshal(want, &value); err != nil {
			t.Fatal(err)
		}
		if s, isText := value.(string); isText && string(got) != s || !isText && string(got) != string(want) {
			t.Fatalf("value %q, want %q", got, want)
		}
	})
}
