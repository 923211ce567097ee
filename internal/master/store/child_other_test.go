//go:build !linux

package store

import "errors"

// smallDisk is only for Linux, where the tests that need it are.
func smallDisk(string) error { return errors.ErrUnsupported }
