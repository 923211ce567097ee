// Fill prepares the cache that masters of tests compile with: make test runs it before the
// tests, with the path of gobench.
package main

import (
	"fmt"
	"os"

	"github.com/gobench-io/gobench/internal/testing/binary"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "fill: want the path of gobench")
		os.Exit(2)
	}
	if err := binary.FillCompilerCache(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}
