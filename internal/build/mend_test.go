package build

import (
	"bytes"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// testNames knows Go's packages and the SDK's.
func testNames(t testing.TB) *names {
	t.Helper()
	sdk, err := testSDK().load()
	if err != nil {
		t.Fatal(err)
	}
	return newNames(toolchain{Root: goRoot}, sdk, &project{})
}

func TestMend(t *testing.T) {
	t.Parallel()
	const sdk = `"github.com/gobench-io/gobench`
	for _, tt := range []struct {
		name, in, out string
		notes         []string
	}{
		{"nothing to do", "package main\n\nimport \"fmt\"\n\nfunc f() { fmt.Println() }\n", "", nil},
		{"S0's own: a named import is not used",
			"package main\n\nimport (\n\thttpClient " + sdk + "/clients/http\"\n)\n",
			"package main\n\nimport (\n\t_ " + sdk + "/clients/http\"\n)\n",
			[]string{"4: import " + sdk + "/clients/http\" is not used: made blank"}},
		{"not used", "package main\n\nimport \"fmt\" // why\n", "package main\n\nimport _ \"fmt\" // why\n", []string{`3: import "fmt" is not used: made blank`}},
		{"not used, written tight", "package main\n\nimport\"fmt\"\n", "package main\n\nimport _ \"fmt\"\n", []string{`3: import "fmt" is not used: made blank`}},
		{"not used, of a major version", "package main\n\nimport \"math/rand/v2\"\n", "package main\n\nimport _ \"math/rand/v2\"\n", []string{`3: import "math/rand/v2" is not used: made blank`}},
		{"used under its own name", "package main\n\nimport \"math/rand/v2\"\n\nvar x = rand.IntN(1)\n", "", nil},
		{"shadowed everywhere", "package main\n\nimport \"log\"\n\nfunc f(log int) int { return log }\n",
			"package main\n\nimport _ \"log\"\n\nfunc f(log int) int { return log }\n", []string{`3: import "log" is not used: made blank`}},
		{"used before it is shadowed", "package main\n\nimport \"log\"\n\nfunc f() { log := log.Default(); log.Println() }\n", "", nil},
		{"used in a type parameter", "package main\n\nimport \"cmp\"\n\nfunc f[T cmp.Ordered](x T) {}\n", "", nil},
		{"blank and dot imports stay", "package main\n\nimport (\n\t_ \"embed\"\n\t. \"fmt\"\n)\n\nvar x = os.Args\n", "", nil},

		{"missing", "package main // the scenario\n\nvar x = fmt.Sprint(time.Second)\n",
			"package main; import \"fmt\"; import \"time\" // the scenario\n\nvar x = fmt.Sprint(time.Second)\n",
			[]string{`1: import "fmt" is missing: added`, `1: import "time" is missing: added`}},
		{"missing of the SDK", "package main\n\nfunc export() scenario.Vus { return nil }\n",
			"package main; import " + sdk + "/executor/scenario\"\n\nfunc export() scenario.Vus { return nil }\n",
			[]string{"1: import " + sdk + "/executor/scenario\" is missing: added"}},
		{"which http: the client", "package main\n\nvar x, err = http.NewHttpClient(nil, \"\")\n",
			"package main; import " + sdk + "/clients/http\"\n\nvar x, err = http.NewHttpClient(nil, \"\")\n",
			[]string{"1: import " + sdk + "/clients/http\" is missing: added"}},
		{"which http: Go's", "package main\n\nvar x = http.StatusTeapot\n",
			"package main; import \"net/http\"\n\nvar x = http.StatusTeapot\n", []string{`1: import "net/http" is missing: added`}},
		{"which http: not Go's calls, which are not measured", "package main\n\nvar x, err = http.Get(\"\")\n", "", nil},
		{"which http: nobody has both", "package main\n\nvar x, y = http.NewHttpClient, http.StatusTeapot\n", "", nil},
		{"which rand: of version 2", "package main\n\nvar x = rand.IntN(3)\n", "package main; import \"math/rand/v2\"\n\nvar x = rand.IntN(3)\n", []string{`1: import "math/rand/v2" is missing: added`}},
		{"which rand: in doubt", "package main\n\nvar x = rand.Read\n", "", nil},
		{"a name that its package does not have", "package main\n\nvar x = fmt.Printn()\n", "", nil},
		{"a package nobody knows", "package main\n\nvar x = banana.New()\n", "", nil},
		{"declared in another file of the package", "package main\n\nvar x = other.Field\n", "", nil},
		{"a local of that name", "package main\n\nfunc f(time struct{ Second int }) int { return time.Second }\n", "", nil},
		{"a built-in", "package main\n\nvar x = error.Error\n", "", nil},
		{"a key of a literal is no use", "package main\n\nvar x = T{time: 1}\n", "", nil},

		{"an unknown package that may have the name", "package main\n\nimport \"example.com/thing\"\n\nvar x = fmt.Sprint()\n", "", nil},
		{"an unknown package whose name is used", "package main\n\nimport \"example.com/go-thing/v3\"\n\nvar x = fmt.Sprint(thing.New())\n",
			"package main; import \"fmt\"\n\nimport \"example.com/go-thing/v3\"\n\nvar x = fmt.Sprint(thing.New())\n", []string{`1: import "fmt" is missing: added`}},
		{"an unknown package that nothing can be using", "package main\n\nimport (\n\t\"example.com/thing\"\n\t\"fmt\"\n)\n\nvar x = fmt.Sprint()\n",
			"package main\n\nimport (\n\t_ \"example.com/thing\"\n\t\"fmt\"\n)\n\nvar x = fmt.Sprint()\n", []string{`4: import "example.com/thing" is not used: made blank`}},

		{"/v2", "package main\n\nimport " + sdk + "/v2/dis\"\n\nvar x = dis.RandomString(3)\n",
			"package main\n\nimport " + sdk + "/dis\"\n\nvar x = dis.RandomString(3)\n",
			[]string{"3: import " + sdk + "/v2/dis\" is read as " + sdk + "/dis\""}},
		{"/v2, not used", "package main\n\nimport " + sdk + "/v2/dis\"\n", "package main\n\nimport _ " + sdk + "/dis\"\n",
			[]string{"3: import " + sdk + "/v2/dis\" is read as " + sdk + "/dis\"", "3: import " + sdk + "/dis\" is not used: made blank"}},
		{"/v2 in a raw string", "package main\n\nimport d `github.com/gobench-io/gobench/v2/dis`\n\nvar x = d.RandomString(3)\n",
			"package main\n\nimport d " + sdk + "/dis\"\n\nvar x = d.RandomString(3)\n",
			[]string{"3: import " + sdk + "/v2/dis\" is read as " + sdk + "/dis\""}},
		{"/v20 is another module", "package main\n\nimport _ " + sdk + "/v20/dis\"\n", "", nil},
		{"lines of Windows", "package main\r\n\r\nimport \"fmt\"\r\n", "package main\r\n\r\nimport _ \"fmt\"\r\n", []string{`3: import "fmt" is not used: made blank`}},
		{"//line does not move a note", "package main\n\n//line /etc/shadow:1\nimport \"fmt\"\n", "package main\n\n//line /etc/shadow:1\nimport _ \"fmt\"\n",
			[]string{`4: import "fmt" is not used: made blank`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mendText(t, testNames(t), tt.in)
			want := tt.out
			if want == "" {
				want = tt.in
			}
			if string(got.text) != want {
				t.Errorf("mended to\n%s\nwant\n%s", got.text, want)
			}
			if notes := noteTexts(got); !slices.Equal(notes, tt.notes) {
				t.Errorf("notes = %q, want %q", notes, tt.notes)
			}
		})
	}
}

func mendText(t testing.TB, known *names, text string) mended {
	t.Helper()
	f := parse("scenario.go", []byte(text))
	if f.err != nil {
		t.Fatal(f.err)
	}
	return mend(f, []byte(text), map[string]bool{"other": true}, known)
}

func noteTexts(m mended) []string {
	var out []string
	for _, n := range m.notes {
		out = append(out, itoa(n.line)+": "+n.text)
	}
	return out
}

// A mended file can be parsed, has the same number of lines, and needs no further mending.
func FuzzMend(f *testing.F) {
	for _, s := range []string{
		small, "package main\n\nimport \"fmt\"\n", "package main; var x = fmt.Sprint()", "package main /* a\nb */\nvar x = rand.IntN(1)",
		"package main\nimport (a \"github.com/gobench-io/gobench/v2/dis\"; . \"fmt\"; \"log\")\nfunc f() { log := log.Default(); log.Print(http.Get) }",
		"package main\nimport \"os\"; import \"os\"\nfunc f[T os.File](x T) { L: for { break L } }", "package\u00a0main", "package main\nimport `embed`//x\n",
	} {
		f.Add([]byte(s))
	}
	known := testNames(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		file := parse("scenario.go", src)
		if file.err != nil {
			return
		}
		got := mend(file, src, declared(file.ast), known)
		if a, b := bytes.Count(src, []byte("\n")), bytes.Count(got.text, []byte("\n")); a != b {
			t.Fatalf("%d lines became %d:\n%s", a, b, got.text)
		}
		if len(got.notes) == 0 && !bytes.Equal(src, got.text) {
			t.Fatalf("changed without a note:\n%s", got.text)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", got.text, 0); err != nil {
			t.Fatalf("%v in\n%s", err, got.text)
		}
		again := parse("scenario.go", got.text)
		if second := mend(again, got.text, declared(again.ast), known); len(second.notes) > 0 {
			t.Fatalf("mended again: %q in\n%s", noteTexts(second), got.text)
		}
	})
}

func TestLikelyName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"fmt": "fmt", "net/http": "http", "math/rand/v2": "rand", "gopkg.in/yaml.v3": "yaml", "example.com/go-redis/v9": "redis",
		"github.com/eclipse/paho.mqtt.golang": "paho", "v2": "v2", "example.com/a-b": "a",
	} {
		if got := likelyName(path); got != want {
			t.Errorf("likelyName(%q) = %q, want %q", path, got, want)
		}
	}
}

// Each package of the table exists in the toolchain.
func TestStdPackages(t *testing.T) {
	t.Parallel()
	tc := toolchain{Root: goRoot}
	for _, p := range stdPackages {
		if !isStd(p, tc) {
			t.Errorf("%s is not in %s", p, tc.Root)
		}
		if strings.Contains(p, "internal") {
			t.Errorf("%s cannot be imported", p)
		}
	}
}
