//go:build unix

package live

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// A terminal that reads nothing blocks no one; what was dropped is counted, and when it
// reads again, it is restored at the end.
func TestSlowTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	if !Fits(tty) {
		t.Fatal("a terminal does not fit")
	}
	term := Open(tty, tty, Run{Name: "a"}, func(byte, func(func(*Run))) {})
	term.Show(event.Event{Kind: event.State, State: run.Running, Time: zero})
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range 2000 {
			term.Show(event.Event{Kind: event.Note, Text: strings.Repeat("x", 500)})
		}
	}()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Fatal("telling waits for the terminal")
	}
	var seen strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&seen, master) // returns when the terminal is closed
	}()
	if term.Close() == 0 {
		t.Error("nothing was left out of 1 MB")
	}
	tty.Close()
	<-read
	if !strings.HasSuffix(seen.String(), showCursor) {
		t.Errorf("the terminal was left with %q", seen.String()[max(0, seen.Len()-40):])
	}
}

func TestCharacters(t *testing.T) {
	for keys, want := range map[string]string{"p": "p", "\x1b[A": "", "\x1b[1;5Cp": "p", "\x1bOPq": "q", "\x1bxs": "s", "\x1b": "", "+\x1b[200~-": "+-"} {
		if got := string(characters([]byte(keys))); got != want {
			t.Errorf("%q are %q, want %q", keys, got, want)
		}
	}
}
