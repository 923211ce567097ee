//go:build unix

package live

import (
	"os"

	"golang.org/x/sys/unix"
)

// modes are those of a terminal.
type modes unix.Termios

func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}

// foreground tells whether this process may use the terminal: it is in the foreground
// of it, or there is no job control on it.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// orphaned tells whether no shell could continue this process if it stopped.
func orphaned() bool {
	parent := os.Getppid()
	session, err := unix.Getsid(0)
	theirs, gone := unix.Getsid(parent)
	group, other := unix.Getpgid(parent)
	return err != nil || gone != nil || other != nil || session != theirs || group == unix.Getpgrp()
}

// unbuffered has the terminal give each key at once, without an echo. Signals and the
// treatment of what is written stay as they are.
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

// windowSize is how many columns and lines a terminal has; one that does not say has
// 80 by 24.
func windowSize(f *os.File) (width, height int) {
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 || w.Row == 0 {
		return 80, 24
	}
	return int(w.Col), int(w.Row)
}
