//go:build unix

package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isReadOnlyFS tells whether err is that of a file system that takes no writes.
func isReadOnlyFS(err error) bool { return errors.Is(err, unix.EROFS) }
