// Command bundle makes internal/build/deps.tar.gz: the source of every module that a
// scenario is compiled against, so that an installed gobench compiles offline.
//
//	go run ./internal/build/bundle         rebuild the archive
//	go run ./internal/build/bundle -check  fail when the archive is not current
//
// The archive holds gobench/go.mod (the SDK's: it requires only modules of the archive) and
// third_party/PATH@VERSION/ for each module, reduced by go mod vendor to the packages that
// the SDK imports, with the module's own go.mod and licence. Its entries are sorted and
// carry no time, owner or mode. -check compares contents, as compressed bytes may differ
// from one Go release to the next.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

const mend = "go run ./internal/build/bundle"

func main() {
	check := flag.Bool("check", false, "compare, write nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *check); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// run rebuilds the archive if its contents are not current, and prints what it did. With
// check it writes nothing, and returns an error if they are not.
func run(ctx context.Context, check bool) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	archive := filepath.Join(root, "internal", "build", "deps.tar.gz")
	want, err := collect(ctx, root)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(archive)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	have := map[string][]byte{}
	if len(old) > 0 {
		if have, err = unpack(bytes.NewReader(old)); err != nil {
			return fmt.Errorf("read %s: %w", archive, err)
		}
	}
	diff := compare(have, want)
	switch {
	case diff == "":
		fmt.Printf("bundle: current: %d files\n", len(want))
		return nil
	case check:
		return fmt.Errorf("internal/build/deps.tar.gz is not current: %s\nmend it: %s", diff, mend)
	}
	data, err := pack(want)
	if err != nil {
		return err
	}
	if err := os.WriteFile(archive, data, 0o644); err != nil {
		return err
	}
	fmt.Printf("bundle: wrote %d files, %d KiB: %s\n", len(want), len(data)>>10, diff)
	return nil
}
