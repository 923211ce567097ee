package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Warm fills the go build cache with every package of the SDK, so that the first scenario
// of each client compiles in a second. It compiles a scenario that does nothing, one
// package at a time and with the lowest priority, for at most ten minutes. Once that is
// done for this gobench, this Go and o's platform, a call returns at once; while another
// process does it, a call waits. Its errors are those of Build. A call that failed is done
// again by the next.
//
// It uses processor time: do not call it during a measurement.
func (b *Builder) Warm(ctx context.Context, o Options) error {
	o = o.withDefaults()
	sdk, err := b.load()
	if err != nil {
		return err
	}
	tc, err := b.findGo(ctx, sdk.mod.Go.Version)
	if err != nil {
		return err
	}
	done := b.mark("warm", sdk, tc, o)
	if done.set() {
		return nil
	}
	unlock, err := b.lock(ctx, "warm")
	if err != nil {
		return err
	}
	defer unlock()
	if done.set() {
		return nil
	}
	o.idle = true
	o.Limits.Time = 10 * time.Minute
	_, err = b.build(ctx, o, func(_ toolchain, sdk *sdkFiles) (*project, error) { return blankProject(sdk), nil })
	if err != nil {
		return fmt.Errorf("warm the build cache: %w", err)
	}
	return done.make()
}

// blankProject returns a scenario without users that imports all of the SDK. It has no tree
// to read from.
func blankProject(sdk *sdkFiles) *project {
	var text strings.Builder
	text.WriteString("package main\n\nimport (\n")
	var targets []string
	for target, name := range sdk.packages() {
		if name != "main" {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	for _, target := range targets {
		fmt.Fprintf(&text, "\t_ %q\n", target)
	}
	fmt.Fprintf(&text, "\n\t%q\n)\n\nfunc main() { executor.Main(nil) }\n", sdkPath+"/executor")
	return &project{
		tree:  &tree{dir: ".", display: "."},
		files: map[string][]byte{"warm.go": []byte(text.String())},
	}
}

// mark returns the name of a file whose existence means that something was done for an SDK,
// a Go, a platform and a go build cache.
type mark string

// mark returns the mark of what for an SDK, a Go, and o's platform and go build cache. It
// creates nothing.
func (b *Builder) mark(what string, sdk *sdkFiles, tc toolchain, o Options) mark {
	cache := ""
	if o.Person != nil {
		cache = o.Person.GoCache
	}
	of := strings.Join([]string{sdk.id, tc.Version, o.GOOS, o.GOARCH, cache}, "\n")
	return mark(filepath.Join(b.dir, "marks", what+"-"+shortHash(of)))
}

func (m mark) set() bool {
	_, err := os.Stat(string(m))
	return err == nil
}

func (m mark) make() error { return writeFile(string(m), nil) }
