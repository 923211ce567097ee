package template

import (
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/executor/data"
)

// row returns a row with these columns and values.
func row(t testing.TB, pairs map[string]string) *data.Row {
	t.Helper()
	b, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "row.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := data.JSONLines(path).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestAppend(t *testing.T) {
	r := row(t, map[string]string{"name": "Ann Lee", "a b": "x", "odd": "\"\\\n\t\x01é/?&=%+"})
	for _, tt := range []struct {
		parse      func(string) (*Template, error)
		text, want string
	}{
		{Parse, "", ""},
		{Parse, "plain", "plain"},
		{Parse, "{{seq}}", "17"},
		{Parse, "a{{ seq }}b{{vu}}c", "a17b3c"},
		{Parse, `{"id":{{seq}},"who":"{{data.name}}"}`, `{"id":17,"who":"Ann Lee"}`},
		{Parse, "{{data.a b}}", "x"},
		{Parse, `{{"{{"}}seq}}`, "{{seq}}"},
		{Parse, `{{"}}"}}`, "}}"},
		{Parse, "{ {seq} }", "{ {seq} }"},
		{Parse, "{{rand 5 5}}", "5"},
		{Parse, "{{rand -3 -3}}", "-3"},
		{Parse, "{{json data.odd}}", `\"\\\n\t\u0001é/?&=%+`},
		{Parse, "{{url data.odd}}", `%22%5C%0A%09%01%C3%A9%2F%3F%26%3D%25%2B`},
		{Parse, "{{data.odd}}", "\"\\\n\t\x01é/?&=%+"},
		{ParseURL, "/u/{{data.name}}?q={{data.odd}}&s={{seq}}", `/u/Ann%20Lee?q=%22%5C%0A%09%01%C3%A9%2F%3F%26%3D%25%2B&s=17`},
		{ParseURL, "/{{json data.name}}", "/Ann Lee"},
		{Parse, "{{data.absent}}.", "."},
	} {
		tmpl, err := tt.parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := string(tmpl.Append([]byte(">"), &Values{User: 3, Seq: 17, Rand: rand.New(rand.NewPCG(1, 2)), Row: r})); got != ">"+tt.want {
			t.Errorf("%s gives %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestUUID(t *testing.T) {
	tmpl, err := Parse("{{uuid}} {{uuid}}")
	if err != nil {
		t.Fatal(err)
	}
	v := &Values{Rand: rand.New(rand.NewPCG(1, 2))}
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for i := range 1000 {
		v.Next(int64(i))
		a, b, _ := strings.Cut(string(tmpl.Append(nil, v)), " ")
		if a != b {
			t.Fatalf("one request has two: %s and %s", a, b)
		}
		if !form.MatchString(a) || seen[a] {
			t.Fatalf("%s is none, or came before", a)
		}
		seen[a] = true
	}
}

func TestRandIsUniformOverItsRange(t *testing.T) {
	v := &Values{Rand: rand.New(rand.NewPCG(1, 2))}
	tmpl, err := Parse("{{rand -2 7}}")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for range 10_000 {
		counts[string(tmpl.Append(nil, v))]++
	}
	for i := -2; i <= 7; i++ {
		if n := counts[strconv.Itoa(i)]; n < 850 || n > 1150 {
			t.Errorf("%d came %d times of 10,000", i, n)
		}
	}
	if len(counts) != 10 {
		t.Errorf("numbers %v", counts)
	}
	for _, whole := range []string{"{{rand -9223372036854775808 9223372036854775807}}", "{{rand -9223372036854775808 9223372036854775806}}"} {
		tmpl, err = Parse(whole)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strconv.ParseInt(string(tmpl.Append(nil, v)), 10, 64); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"ab{{sq}}":           `column 3: {{sq}}: want one of seq, uuid, rand LOW HIGH, vu, data.COLUMN`,
		"é{{":                `column 2: {{ without }} after it`,
		"{{seq}":             `column 1: {{ without }}`,
		"{{}}":               `column 1: {{}}: want one of`,
		"{{ }}":              `want one of`,
		"{{rand}}":           `rand takes 2 numbers, not 0`,
		"{{rand 1}}":         `rand takes 2 numbers, not 1`,
		"{{rand 1 x}}":       `"x" is no whole number`,
		"{{rand 1.5 2}}":     `"1.5" is no whole number`,
		"{{rand 2 1}}":       `2 is above 1`,
		"{{seq 1}}":          `seq takes 0 numbers, not 1`,
		"{{data.}}":          `no column is named`,
		"{{json}}":           `want one of`,
		"{{json x}}":         `want one of`,
		`{{"a}}`:             `{{ without }}`,
		`{{"a" b}}`:          `a quote that is not closed`,
		"ok {{seq}} {{seq 1": `column 12: {{ without }}`,
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestFixedAndColumns(t *testing.T) {
	for text, fixed := range map[string]bool{"": true, "a": true, `a{{"{{"}}b`: true, "{{seq}}": false, "a{{vu}}": false} {
		tmpl, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, is := tmpl.Fixed(); is != fixed {
			t.Errorf("%q: fixed %v", text, is)
		}
	}
	tmpl, err := Parse("{{data.b}}{{json data.a}}{{data.b}}")
	if err != nil {
		t.Fatal(err)
	}
	if got := tmpl.Columns(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("columns %q", got)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	tmpl, err := Parse(`/{{seq}}/{{uuid}}/{{rand 1 1000000}}/{{vu}}/{{data.name}}/{{json data.name}}/{{url data.name}}`)
	if err != nil {
		t.Fatal(err)
	}
	v := &Values{Rand: rand.New(rand.NewPCG(1, 2)), Row: row(t, map[string]string{"name": "Ann \"Q\" Lee"})}
	b := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(1000, func() { v.Next(v.Seq + 1); b = tmpl.Append(b[:0], v) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// An inserted value can't leave its place in the text.
func FuzzEncodings(f *testing.F) {
	f.Add("a\"b\\c\n?&#é")
	f.Fuzz(func(t *testing.T, value string) {
		var back string
		quoted := append(inJSON.encode(append([]byte(`"`), value...), 1), '"')
		if valid := strings.ToValidUTF8(value, "\uFFFD"); valid == value {
			if err := json.Unmarshal(quoted, &back); err != nil || back != value {
				t.Errorf("JSON %s is %q (%v), want %q", quoted, back, err, value)
			}
		}
		back, err := url.PathUnescape(string(inURL.encode([]byte(value), 0)))
		if err != nil || back != value {
			t.Errorf("URL: %q (%v), want %q", back, err, value)
		}
	})
}

// Every text that can be parsed can be rendered.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"{{seq}}", `{{"{{"}}`, "{{rand 1 2}}", "{{json data.a}}x", "{{uuid}}{{"} {
		f.Add(s)
	}
	r := row(f, map[string]string{"a": "b"})
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := Parse(text)
		if err != nil {
			return
		}
		out := string(tmpl.Append(nil, &Values{Rand: rand.New(rand.NewPCG(1, 2)), Row: r}))
		if fixed, is := tmpl.Fixed(); is && out != fixed || !strings.Contains(text, "{{") && out != text {
			t.Errorf("%q renders as %q", text, out)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	tmpl, err := Parse(`{"id":{{seq}},"uuid":"{{uuid}}","n":{{rand 1 100}},"name":"{{json data.name}}"}`)
	if err != nil {
		b.Fatal(err)
	}
	v := &Values{Rand: rand.New(rand.NewPCG(1, 2)), Row: row(b, map[string]string{"name": "Ann Lee"})}
	buf := make([]byte, 0, 256)
	for b.Loop() {
		v.Next(v.Seq + 1)
		buf = tmpl.Append(buf[:0], v)
	}
}
