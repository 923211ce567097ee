//go:build long

package build

import (
	"debug/elf"
	"debug/macho"
	"path/filepath"
	"testing"
)

// Executors for other platforms are built for those platforms. The first build for a
// platform compiles the standard library for it.
func TestCrossBuilds(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	s2 := filepath.Join(scenarios, "s2", "scenario.go")
	o := offline()
	o.GOOS, o.GOARCH = "linux", "arm64"
	f, err := elf.Open(mustBuild(t, b, s2, o).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if f.Machine != elf.EM_AARCH64 {
		t.Errorf("linux/arm64 is for %v", f.Machine)
	}
	o.GOOS = "darwin"
	m, err := macho.Open(mustBuild(t, b, s2, o).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if m.Cpu != macho.CpuArm64 {
		t.Errorf("darwin/arm64 is for %v", m.Cpu)
	}
}
