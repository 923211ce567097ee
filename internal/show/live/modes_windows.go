package live

import (
	"errors"
	"os"
	"syscall"
)

// On Windows a run is shown in plain lines: no terminal is recognized.

type modes struct{}

// IsTerminal reports whether a run can be drawn on f: never on Windows.
func IsTerminal(*os.File) bool { return false }

func foreground(*os.File) bool { return false }

func unbuffered(*os.File) (*modes, error) { return nil, errors.ErrUnsupported }

func (*modes) restore(*os.File) {}

func windowSize(*os.File) (width, height int) { return 80, 24 }

type keyboard struct{}

func newKeyboard(*os.File) (*keyboard, error) { return nil, errors.ErrUnsupported }

func (*keyboard) close() {}

func (*keyboard) read(func(byte)) {}

var terminalSignals = []os.Signal{syscall.SIGQUIT} // an empty list would mean all

func (*Terminal) signal(os.Signal, <-chan os.Signal) {}
