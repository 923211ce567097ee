//go:build unix

package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isReadOnlyFS reports whether err means that a file system is mounted read-only.
func isReadOnlyFS(err error) bool { return errors.Is(err, unix.EROFS) }
