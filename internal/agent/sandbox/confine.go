// Package sandbox isolates the processes of a run from the rest of a host, and kills all of
// them, even those that try to escape.
//
// A [Box] belongs to one run. It is a private folder and, if this process has the
// permissions, an unprivileged user that nothing else runs as (level 1), and a control
// group (level 2). Otherwise the processes run as this process's user (level 0) and are
// identified by a mark in their environment.
//
// Processes enter a box through a helper, which is this program, started again: main must
// call [Main] first. The helper enters the control group, sets limits, drops all privileges
// and executes the executor.
package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// MarkEnv names the variable that all processes of a box inherit.
const MarkEnv = "GOBENCH_BOX"

// ErrTaken is returned by New if another box uses the user that Options asks for, or all.
var ErrTaken = errors.New("no user is free")

// Options configures a box. The zero value means the defaults.
type Options struct {
	Work   string // where the private folder is created; empty for the temporary folder; /tmp if its path has more than 60 bytes
	Memory int64  // bytes that all processes together may use, if the system can limit it; 0 for no limit
	Same   bool   // use level 0, even if a higher one is possible
	User   int    // the user to run as, which one box at a time can have; 0 for any that is free

	// Note, if set, receives the state of a box before anything of it is created. A program
	// that stores it can Open and Close the box after it was killed. If Note returns an
	// error, New creates nothing and returns that error.
	Note func(State) error
}

// Box is the sandbox of one run, from New or Open. The caller must Close it.
type Box struct {
	State
	release func() // releases the user
}

// State is what Open needs to know of a box that a previous process created.
type State struct {
	Mark    string   `json:"mark"`
	Level   int      `json:"level"`
	UID     int      `json:"uid,omitempty"` // 0 for this process's user
	Folder  string   `json:"folder"`        // absolute; other users may enter it but not list it
	Cgroups []string `json:"cgroups,omitempty"`
}

// New creates a box with the highest level that this process can create, or 0 with
// Options.Same. It returns an error that wraps ErrTaken if no user is free. After an error
// nothing is left to close. The caller must Close the box.
func New(o Options) (*Box, error) {
	base := o.Work
	if base == "" {
		base = os.TempDir()
	}
	if len(base) > 60 { // a Unix socket's path has little more than 100 bytes
		base = "/tmp"
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return nil, err
	}
	b := &Box{State: State{Mark: strings.ToLower(rand.Text())}, release: func() {}}
	if !o.Same {
		if b.UID, b.release, err = takeUser(o.User); err != nil {
			return nil, err
		}
	}
	b.Folder = filepath.Join(base, "gobench-"+b.Mark[:10])
	if o.Note != nil {
		planned := b.State
		planned.Cgroups = plannedCgroups("gobench-" + b.Mark)
		if err := o.Note(planned); err != nil {
			b.release()
			return nil, err
		}
	}
	if err := os.Mkdir(b.Folder, 0o700); err != nil {
		b.release()
		return nil, fmt.Errorf("create a run's private folder: %w", err)
	}
	if err := b.makeFolders(); err != nil {
		return nil, errors.Join(fmt.Errorf("create a run's private folder: %w", err), b.remove())
	}
	if b.UID != 0 {
		b.Level = 1
	}
	if b.Cgroups = makeCgroups("gobench-"+b.Mark, o.Memory); len(b.Cgroups) > 0 && b.UID != 0 {
		b.Level = 2
	}
	return b, nil
}

// makeFolders creates the folders in the box's folder, for its user. That must exist, and Home
// not. On an error some of them exist.
func (b *Box) makeFolders() error {
	if b.UID != 0 {
		if err := os.Chmod(b.Folder, 0o711); err != nil { // its user enters it to reach its home
			return err
		}
	}
	for _, dir := range []string{b.Home(), filepath.Join(b.Home(), "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := b.Chown(dir); err != nil {
			return err
		}
	}
	return nil
}

// Open returns a box that a previous process created, so that it can be killed and closed.
// It does not check whether anything of it exists. If another box uses its user now, only
// its control group and its mark identify what is left of it. The caller must Close it.
func Open(s State) *Box {
	b := &Box{State: s, release: func() {}}
	if s.UID != 0 {
		release, ok := reserveUser(s.UID)
		if !ok {
			b.UID = 0
			return b
		}
		b.release = release
	}
	return b
}

// Home returns the working folder of the box's processes. No other user can enter it.
func (b *Box) Home() string { return filepath.Join(b.Folder, "home") }

// Chown makes the box's user the owner of a file; it follows no link. It does nothing if
// the box has no user of its own.
func (b *Box) Chown(path string) error {
	if b.UID == 0 {
		return nil
	}
	return os.Lchown(path, b.UID, b.UID)
}

// Environ returns the environment of a process of the box, NAME=VALUE: PATH and LANG, then
// extra, then HOME, TMPDIR and the mark. Nothing of this process's environment is in it.
func (b *Box) Environ(extra []string) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	env = append(env, extra...)
	return append(env, "HOME="+b.Home(), "TMPDIR="+filepath.Join(b.Home(), "tmp"), MarkEnv+"="+b.Mark)
}

// Close kills what is left of the box, as Kill does, and deletes it. The error describes
// what it could not kill, and files that it could not remove; Close may be called again, and
// then leaves alone what another box does with the same user.
func (b *Box) Close() error {
	err := b.Kill()
	b.sweep()
	if left := b.remove(); err == nil {
		err = left
	}
	return err
}

// remove deletes a box without processes and releases its user, which is then no longer the
// box's, also if its folder can't be deleted: that is the error.
func (b *Box) remove() error {
	removeCgroups(b.Cgroups)
	err := os.RemoveAll(b.Folder)
	b.UID = 0
	b.release()
	return err
}

// Level returns the level of the boxes that this process can create, 0 to 2, by creating one
// with o and removing it. It returns an error if one of the two fails.
func Level(o Options) (int, error) {
	b, err := New(o)
	if err != nil {
		return 0, err
	}
	return b.Level, b.remove()
}
