//go:build unix

package live

import (
	"os"

	"golang.org/x/sys/unix"
)

// modes are the settings of a terminal.
type modes unix.Termios

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}

// foreground reports whether this process may use the terminal: it is in its foreground, or
// the terminal has no job control.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// orphaned reports whether no shell could continue this process if it stopped, or this is
// unknown.
func orphaned() bool {
	parent := os.Getppid()
	session, err := unix.Getsid(0)
	theirs, gone := unix.Getsid(parent)
	group, other := unix.Getpgid(parent)
	return err != nil || gone != nil || other != nil || session != theirs || group == unix.Getpgrp()
}

// unbuffered makes the terminal deliver each key at once and without echo. Signals and the
// processing of output stay as they are. It returns the previous modes; with an error, which
// may come with them, the terminal's modes are unchanged.
func unbuffered(f *os.File) (before *modes, err error) {
	was, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	if err != nil {
		return nil, err
	}
	m := *was
	m.Lflag &^= unix.ICANON | unix.ECHO
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	return (*modes)(was), unix.IoctlSetTermios(int(f.Fd()), setModes, &m)
}

func (m *modes) restore(f *os.File) {
	_ = unix.IoctlSetTermios(int(f.Fd()), setModes, (*unix.Termios)(m)) // the terminal may be gone
}

// windowSize returns a terminal's number of columns and lines; 80 by 24 if unknown.
func windowSize(f *os.File) (width, height int) {
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 || w.Row == 0 {
		return 80, 24
	}
	return int(w.Col), int(w.Row)
}
