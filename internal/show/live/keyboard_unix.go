//go:build unix

package live

import (
	"errors"
	"os"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// keyboard reads keys from a terminal until it is closed.
type keyboard struct {
	in         *os.File
	stop, ends *os.File // a pipe: stop becomes readable when ends is closed
}

// newKeyboard returns a keyboard that reads from in, which it never closes. The caller must
// call read, and close to end that.
func newKeyboard(in *os.File) (*keyboard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &keyboard{in, r, w}, nil
}

// close makes read return.
func (k *keyboard) close() { k.ends.Close() }

// read calls press with each key that is a single character; others, as arrows, are
// ignored. It returns when the keyboard is closed or the terminal is gone. While this
// process is in the background it reads nothing. It must be called only once.
func (k *keyboard) read(press func(byte)) {
	defer k.stop.Close()
	in, stop := int32(k.in.Fd()), int32(k.stop.Fd())
	for {
		wait := -1
		fds := []unix.PollFd{{Fd: stop, Events: unix.POLLIN}, {Fd: in, Events: unix.POLLIN}}
		if !foreground(k.in) { // reading would stop this process
			wait, fds = int(beat/time.Millisecond), fds[:1]
		}
		if _, err := unix.Poll(fds, wait); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[0].Revents != 0 {
			return
		}
		if len(fds) < 2 || fds[1].Revents == 0 || !foreground(k.in) {
			continue
		}
		var b [64]byte
		n, err := unix.Read(int(in), b[:])
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		for _, c := range characters(b[:n]) {
			press(c)
		}
	}
}

// severalBytes is a key that sends several characters: an arrow, or Alt with another key.
var severalBytes = regexp.MustCompile(`\x1b([\[O][0-?]*[ -/]*[@-~]?|.)?`)

// characters returns the keys that are one character each.
func characters(b []byte) []byte { return severalBytes.ReplaceAll(b, nil) }
