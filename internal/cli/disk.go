package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// storage is a place that gobench writes to, and what helps if it can't be written.
type storage struct {
	elsewhere string // what names another one
	free      string // what frees space in it
}

var (
	dataStorage  = storage{"--dir names another place for gobench's data", "gobench clean --keep 20 deletes old runs"}
	cacheStorage = storage{"XDG_CACHE_HOME names another place for what is compiled", "gobench clean --cache empties it"}
	tempStorage  = storage{"TMPDIR names another place for temporary files", "delete old files there"}
)

// hint returns advice on err for a user: how to free space if the disk is full, or how to
// name another place if err is of a path; empty for other errors.
func (s storage) hint(err error) string {
	switch {
	case full(err):
		return "the disk is full: " + s.free + ", or " + s.elsewhere
	case isPath(err):
		return s.elsewhere
	}
	return ""
}

// full reports whether err is of a full disk or an exceeded quota. The go command only
// prints such an error, so that its text counts too. A nil err is not.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		err != nil && strings.Contains(err.Error(), syscall.ENOSPC.Error()) // the go command only prints it
}

// isPath reports whether err wraps an error of a file operation (*fs.PathError,
// *os.LinkError).
func isPath(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// isTemporary reports whether err wraps an *fs.PathError whose path begins with that of the
// temporary folder.
func isTemporary(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && strings.HasPrefix(path.Path, os.TempDir())
}
