package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isReadOnlyFS reports whether err is that of a file system that takes no writes.
func isReadOnlyFS(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
