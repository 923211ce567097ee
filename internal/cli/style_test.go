//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/show/report"
)

// terminal opens a terminal of so many columns.
func terminal(t *testing.T, columns uint16) *os.File {
	t.Helper()
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	if err := unix.IoctlSetPointerInt(int(host.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(host.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}); err != nil {
		t.Fatal(err)
	}
	return screen
}

func TestStyleOf(t *testing.T) {
	screen := terminal(t, 97)
	_, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	for _, tt := range []struct {
		name          string
		noColor, term string
		got           func() report.Style
		want          report.Style
	}{
		{"a terminal", "", "xterm", func() report.Style { return styleOf(screen) }, report.Style{Width: 97, Color: true}},
		{"NO_COLOR", "1", "xterm", func() report.Style { return styleOf(screen) }, report.Style{Width: 97}},
		{"a dumb terminal", "", "dumb", func() report.Style { return styleOf(screen) }, report.Style{Width: 97}},
		{"a pipe", "", "xterm", func() report.Style { return styleOf(pipe) }, report.Style{}},
		{"no file", "", "xterm", func() report.Style { return styleOf(new(bytes.Buffer)) }, report.Style{}},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", tt.term)
		if got := tt.got(); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
