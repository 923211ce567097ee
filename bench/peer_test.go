package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// fake is a peer that is installed at once, or fails to install.
func fake(name string, err error) *peer {
	return &peer{
		name: name,
		install: func(context.Context, *bench) (installed, error) {
			return installed{version: name + " 1", command: []string{"/opt/" + name, "go"}, env: []string{"A=1"}}, err
		},
		read: func(u usage, file string) (outcome, error) { return outcome{requests: float64(len(file))}, nil },
	}
}

func TestContenders(t *testing.T) {
	t.Parallel()
	b := newBench(io.Discard)
	b.root, b.cache = "/src", t.TempDir()
	good, bad := fake("good", nil), fake("bad", errors.New("cargo install bad: exit status 101\n\tan old compiler"))
	lines := []line{
		{good, "", "good -z {s}s --set rate={rate} -o {out} {load}/x.js {url}"},
		{bad, "", "bad {url}"},
		{bad, "bad, again", "bad {url}"},
		{good, "good, again", "TO={url} FOR={s} good --a=b -H 'C: d'"},
	}
	words := map[string]string{"url": "http://127.0.0.1:80/", "rate": "20"}
	s := &section{}
	tools, err := b.contenders(t.Context(), s, lines, words)
	if err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 {
		t.Fatalf("tools: %+v", tools)
	}
	for i, want := range [][]string{
		{"good", "/opt/good", "go", "-z", "7s", "--set", "rate=20", "-o", b.result(), "/src/bench/load/x.js", "http://127.0.0.1:80/"},
		{"good, again", "env", "TO=http://127.0.0.1:80/", "FOR=7", "/opt/good", "go", "--a=b", "-H", "C: d"},
	} {
		if got := append([]string{tools[i].name}, tools[i].command(7)...); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got, want := tools[0].shown, "good -z {s}s --set rate={rate} -o FILE.json bench/load/x.js URL"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "bad is missing, it could not be installed: cargo install bad: exit status 101 ... an old compiler") {
		t.Errorf("notes %q do not name the missing peer once, with its error", s.notes)
	}

	b.tools = []string{"good"}
	if tools, err := b.contenders(t.Context(), &section{}, lines[1:], words); err != nil || len(tools) != 1 || tools[0].name != "good, again" {
		t.Errorf("with -tools good: %+v, %v", tools, err)
	}
	b.tools = []string{"nosuch"}
	if _, err := b.contenders(t.Context(), &section{}, lines, words); err == nil || !strings.Contains(err.Error(), "-tools nosuch") {
		t.Errorf("with -tools nosuch: %v", err)
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"refused", "refused"},
		{"a\n b\n c\n", "a ... c"},
		{strings.Repeat("é", 400), strings.Repeat("é", 300) + "..."},
	} {
		if got := oneLine(errors.New(tt.in)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestWatched(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	b := &bench{log: &shown}
	err := b.watched(t.Context(), limitOf(1), "sh", "-c", "echo compiling; echo no such crate >&2; exit 7")
	var f *failure
	if !errors.As(err, &f) || !strings.Contains(err.Error(), "no such crate") || !strings.Contains(shown.String(), "compiling\n") {
		t.Errorf("error %v, shown %q", err, shown.String())
	}
}
