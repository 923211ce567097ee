package build

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The scenario of the README, as gobench run builds it. Run all three with
//
//	go test -run '^$' -bench . -benchtime 5x ./internal/build

// BenchmarkCached builds a scenario that is in the cache: it runs no command.
func BenchmarkCached(b *testing.B) {
	builder := newBuilder(b)
	dir := filepath.Join(scenarios, "s2")
	mustBuild(b, builder, dir, offline())
	for b.Loop() {
		fresh := newBuilder(b) // as each gobench run has
		mustBuild(b, fresh, dir, offline())
	}
}

// BenchmarkEdited builds a scenario whose text changed since the last build.
func BenchmarkEdited(b *testing.B) {
	builder := newBuilder(b)
	text, err := os.ReadFile(filepath.Join(scenarios, "s2", "scenario.go"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	n := 0
	build := func() {
		n++
		edited := append(text[:len(text):len(text)], fmt.Sprintf("\nvar edit%d = %d\n", n, n)...)
		if err := os.WriteFile(filepath.Join(dir, "scenario.go"), edited, 0o644); err != nil {
			b.Fatal(err)
		}
		mustBuild(b, builder, dir, offline())
	}
	build()
	for b.Loop() {
		build()
	}
}

// BenchmarkCold builds with nothing cached, neither by gobench nor by go.
func BenchmarkCold(b *testing.B) {
	for b.Loop() {
		o := offline()
		o.Person = nil // go's cache is then in the Builder's folder
		mustBuild(b, newBuilderOf(b, testSDK(), b.TempDir()), filepath.Join(scenarios, "s2"), o)
	}
}
