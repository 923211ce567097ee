// Package sandbox keeps the processes of a run apart from the rest of a host, and ends
// all of them, whatever they have done to get away.
//
// A [Box] is one run's: a private folder and, where this process may do that, a user of
// its own, without privileges (level 1), and a control group (level 2). Else its
// processes are this user's (level 0) and known by a mark in their environment.
//
// Processes come into a box by a helper, which is this program again: [Main] must be
// the first thing that main calls. It enters the control group, sets limits, gives up
// all privileges and becomes the executor.
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

// ErrTaken means that a box's user is another box's at present.
var ErrTaken = errors.New("no user is free")

// Options of a box. The zero value has the defaults.
type Options struct {
	Work   string // where its private folder is made; default the temporary folder
	Memory int64  // bytes that all its processes may use, where that can be limited; 0: any
	Same   bool   // level 0, also where more can be had
	User   int    // the user to be, where that can be had: one box at a time has it; 0: any that is free

	// Note is told of a box before anything of it is made, so that who is killed meanwhile
	// can Open and Close it in another life. Its error ends New.
	Note func(State) error
}

// Box is where the processes of one run live. It is made by New or Open.
type Box struct {
	State
	release func() // gives the user back
}

// State is what Open needs to know of a box, of an earlier life of this program.
type State struct {
	Mark    string   `json:"mark"`
	Level   int      `json:"level"`
	UID     int      `json:"uid,omitempty"` // 0: this process's
	Folder  string   `json:"folder"`        // absolute; others may pass through but not look
	Cgroups []string `json:"cgroups,omitempty"`
}

// New makes a box, as closed as this process may make it.
func New(o Options) (*Box, error) {
	b := &Box{State: State{Mark: strings.ToLower(rand.Text())}, release: func() {}}
	if !o.Same {
		var err error
		if b.UID, b.release, err = takeUser(o.User); err != nil {
			return nil, err
		}
	}
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
		return nil, fmt.Errorf("make a run's private folder: %w", err)
	}
	if err := b.furnish(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a run's private folder: %w", err), b.remove())
	}
	if b.UID != 0 {
		b.Level = 1
	}
	if b.Cgroups = makeCgroups("gobench-"+b.Mark, o.Memory); len(b.Cgroups) > 0 && b.UID != 0 {
		b.Level = 2
	}
	return b, nil
}

// furnish makes the folders in the box's folder.
func (b *Box) furnish() error {
	if b.UID != 0 {
		if err := os.Chmod(b.Folder, 0o711); err != nil { // its user passes through to its home
			return err
		}
	}
	for _, dir := range []string{b.Home(), filepath.Join(b.Home(), "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := b.Give(dir); err != nil {
			return err
		}
	}
	return nil
}

// Open gives the box of an earlier life, to be ended and closed. Where another box has its
// user by now, what is left of it is known by its control group and its mark alone.
func Open(s State) *Box {
	b := &Box{State: s, release: func() {}}
	if s.UID != 0 {
		release, ok := keepUser(s.UID)
		if !ok {
			b.UID = 0
			return b
		}
		b.release = release
	}
	return b
}

// Home is the working folder of the box's processes, theirs alone.
func (b *Box) Home() string { return filepath.Join(b.Folder, "home") }

// Give makes a file the box's user's.
func (b *Box) Give(path string) error {
	if b.UID == 0 {
		return nil
	}
	return os.Lchown(path, b.UID, b.UID)
}

// Environ is the environment of a process of the box: a clean one, with extra.
func (b *Box) Environ(extra []string) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	env = append(env, extra...)
	return append(env, "HOME="+b.Home(), "TMPDIR="+filepath.Join(b.Home(), "tmp"), MarkEnv+"="+b.Mark)
}

// Close ends what is left of the box and deletes it. An error says what could not be.
func (b *Box) Close() error {
	err := b.Kill()
	b.sweep()
	if left := b.remove(); err == nil {
		err = left
	}
	return err
}

// remove deletes a box in which nothing is, or never was.
func (b *Box) remove() error {
	removeCgroups(b.Cgroups)
	err := os.RemoveAll(b.Folder)
	b.release()
	return err
}

// Level is that of the boxes that this process can make.
func Level(o Options) (int, error) {
	b, err := New(o)
	if err != nil {
		return 0, err
	}
	return b.Level, b.remove()
}
