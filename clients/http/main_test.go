package http

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain runs more tests in parallel than the host has processors, unless -parallel is set:
// most of them wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set(p.Name, strconv.Itoa(max(6, runtime.GOMAXPROCS(0))))
	}
	os.Exit(m.Run())
}
