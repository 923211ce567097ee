package filelock

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	try := func(f *os.File, want bool) {
		t.Helper()
		if ok, err := Try(f); ok != want || err != nil {
			t.Errorf("locked: %v, %v; want %v", ok, err, want)
		}
	}
	first, second := open(), open()
	try(first, true)
	try(second, false)
	try(first, true) // it already has the lock
	held := func(f *os.File, want bool) {
		t.Helper()
		if is, err := Held(f); is != want || err != nil {
			t.Errorf("held: %v, %v; want %v", is, err, want)
		}
	}
	held(second, true)
	first.Close()
	held(second, false)
	try(second, true)
	if ok, err := Try(first); ok || err == nil {
		t.Errorf("a closed file is locked: %v, %v", ok, err)
	}
}
