//go:build linux

package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/testing/binary"
)

// screen is a terminal with a command on it. It supports the control sequences that gobench
// uses; another one fails the test.
type screen struct {
	t    *testing.T
	pty  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when the command has ended and all is read
	err  error         // of the command, once done is closed

	before string // modes of the terminal before the command began

	mu             sync.Mutex
	width, height  int
	x, y           int
	cells          [][]rune
	history        []string // lines that have scrolled out
	hidden, noWrap bool
	styled         bool   // a style was ever set
	raw            []byte // an incomplete sequence
	unknown        string
}

// onScreen starts a command on a terminal.
func onScreen(t *testing.T, width, height int, env []string, name string, args ...string) *screen {
	s := &screen{t: t, width: width, height: height, done: make(chan struct{}), cmd: exec.Command(name, args...)}
	if name == "gobench" {
		s.cmd = exec.Command(binary.Gobench(t), args...)
	}
	s.resizeCells()
	s.cmd.Env = append(append(os.Environ(), binary.Path(t), binary.NoWarm, "TERM=xterm-256color"), env...)
	var err error
	tty := (*os.File)(nil)
	if s.pty, tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	defer tty.Close() // the program has it
	if err := pty.Setsize(s.pty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	s.before = s.modes()
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		b := make([]byte, 4096)
		for {
			n, err := s.pty.Read(b)
			s.write(b[:n])
			if err != nil { // the last process has closed it
				break
			}
		}
		s.err = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // if it still runs
		s.pty.Close()            // which ends the processes that it started
		<-s.done
		if s.unknown != "" {
			t.Errorf("the terminal was sent %q", s.unknown)
		}
	})
	return s
}

func (s *screen) resizeCells() {
	for len(s.cells) < s.height {
		s.cells = append(s.cells, nil)
	}
	if n := len(s.cells) - s.height; n > 0 { // from the bottom, then from the top
		below := min(n, len(s.cells)-1-s.y)
		s.cells = s.cells[:len(s.cells)-below]
		for range n - below {
			s.scroll()
			s.cells = s.cells[:len(s.cells)-1]
			s.y--
		}
	}
	for i, row := range s.cells {
		for len(row) < s.width {
			row = append(row, ' ')
		}
		s.cells[i] = row[:s.width]
	}
	s.x = min(s.x, s.width-1)
}

// resize changes the size of the terminal.
func (s *screen) resize(width, height int) {
	s.mu.Lock()
	s.width, s.height = width, height
	s.resizeCells()
	s.mu.Unlock()
	if err := pty.Setsize(s.pty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) scroll() {
	s.history = append(s.history, strings.TrimRight(string(s.cells[0]), " "))
	s.cells = append(s.cells[1:], []rune(strings.Repeat(" ", s.width)))
}

func (s *screen) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = append(s.raw, b...)
	for len(s.raw) > 0 {
		n := s.step(s.raw)
		if n == 0 {
			return
		}
		s.raw = s.raw[n:]
	}
}

// step handles the character or sequence at the start of b and returns its length, or 0 if it is
// incomplete.
func (s *screen) step(b []byte) int {
	switch b[0] {
	case '\r':
		s.x = 0
		return 1
	case '\n':
		s.down()
		return 1
	case '\a', '\b':
		return 1
	case '\t':
		s.x = min(s.x/8*8+8, s.width-1)
		return 1
	case 0x1b:
		return s.escape(b)
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r < ' ' {
		s.unknown += string(r)
		return n
	}
	if s.x == s.width {
		if s.noWrap {
			s.x--
		} else {
			s.x = 0
			s.down()
		}
	}
	s.cells[s.y][s.x] = r
	s.x++
	return n
}

func (s *screen) down() {
	if s.y++; s.y == s.height {
		s.scroll()
		s.y--
	}
}

func (s *screen) escape(b []byte) int {
	end := 2
	for end < len(b) && (b[end] < '@' || b[end] > '~') {
		end++
	}
	if len(b) < 2 || end >= len(b) {
		return 0
	}
	seq := string(b[1 : end+1])
	number, err := strconv.Atoi(strings.Trim(seq, "[?ABCDEFGHJKmhl"))
	if err != nil {
		number = 0
	}
	at := min(s.x, s.width-1)
	switch last := seq[len(seq)-1]; {
	case strings.HasPrefix(seq, "[?") && (last == 'h' || last == 'l'):
		switch number {
		case 25:
			s.hidden = last == 'l'
		case 7:
			s.noWrap = last == 'l'
		}
	case last == 'm':
		s.styled = true
	case last == 'A':
		s.y = max(0, s.y-max(1, number))
	case last == 'K' && number == 0:
		copy(s.cells[s.y][at:], []rune(strings.Repeat(" ", s.width)))
	case last == 'J' && number == 0:
		copy(s.cells[s.y][at:], []rune(strings.Repeat(" ", s.width)))
		for _, row := range s.cells[s.y+1:] {
			copy(row, []rune(strings.Repeat(" ", s.width)))
		}
	default:
		s.unknown += seq
	}
	return end + 1
}

// text returns what is on the screen.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, row := range s.cells {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// all returns the lines that have scrolled out and those on the screen.
func (s *screen) all() string {
	text := s.text()
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(append(s.history, text), "\n")
}

// sees waits until all of the texts are on the screen.
func (s *screen) sees(texts ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q", texts), func(now string) bool {
		for _, text := range texts {
			if !strings.Contains(now, text) {
				return false
			}
		}
		return true
	})
}

// until waits until ok returns true for the text on the screen.
func (s *screen) until(what string, ok func(string) bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok(s.text()) {
			return
		}
	}
	s.t.Fatalf("the screen never showed %s:\n%s", what, s.all())
}

// types sends keys.
func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// exits waits until the command ends, and checks its exit status and that the cursor is visible
// and lines wrap as before.
func (s *screen) exits(status int) {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		s.t.Fatalf("the command did not end:\n%s", s.all())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.t.Errorf("exit status %d, want %d:\n%s", got, status, s.all())
	}
	if s.hidden || s.noWrap {
		s.t.Errorf("cursor hidden: %v, no wrapping: %v at the end", s.hidden, s.noWrap)
	}
}

// modes returns the modes of the terminal, as text.
func (s *screen) modes() string {
	s.t.Helper()
	var m *unix.Termios
	conn, err := s.pty.SyscallConn() // Fd would make reading uninterruptible
	if err == nil {
		err = errors.Join(conn.Control(func(fd uintptr) { m, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) }), err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%x %x %x %x %v", m.Iflag, m.Oflag, m.Cflag, m.Lflag, m.Cc)
}
