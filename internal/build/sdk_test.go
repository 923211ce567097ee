package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An unpacked SDK that was damaged in any way is unpacked again.
func TestDamagedSDK(t *testing.T) {
	t.Parallel()
	b := newBuilderOf(t, smallSDK(t), t.TempDir())
	sdk, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	unpack := func() string {
		t.Helper()
		steps = nil
		if err := b.prepareSDK(context.Background(), sdk, func(s string) { steps = append(steps, s) }); err != nil {
			t.Fatal(err)
		}
		return b.sdkPlace(sdk)
	}
	dir := unpack()
	if len(steps) != 1 {
		t.Fatalf("steps = %q, want one", steps)
	}
	name := filepath.Join(dir, "gobench", "executor", "executor.go")
	for _, tt := range []struct {
		name string
		harm func() error
	}{
		{"file gone", func() error { return os.Remove(name) }},
		{"file shorter", func() error { return os.Truncate(name, 10) }},
		{"file changed, same size", func() error {
			data, err := os.ReadFile(name)
			if err == nil {
				data[0] ^= 1
				err = errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, data, 0o600))
			}
			return err
		}},
		{"file more", func() error { return os.WriteFile(filepath.Join(filepath.Dir(name), "more.go"), nil, 0o600) }},
		{"file replaced by a link", func() error { return errors.Join(os.Rename(name, name+"x"), os.Symlink(name+"x", name)) }},
		{"directory gone", func() error { return os.RemoveAll(filepath.Join(dir, "third_party")) }},
		{"manifest gone", func() error { return os.Remove(filepath.Join(dir, manifest)) }},
		{"manifest empty", func() error {
			return errors.Join(os.Chmod(filepath.Join(dir, manifest), 0o600), os.Truncate(filepath.Join(dir, manifest), 0))
		}},
		{"all gone", func() error { return os.RemoveAll(dir) }},
		{"a file in its place", func() error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }},
	} {
		if err := tt.harm(); err != nil {
			t.Fatal(tt.name, err)
		}
		unpack()
		if len(steps) != 1 {
			t.Errorf("%s: not unpacked again", tt.name)
		}
		if err := whole(dir); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if unpack(); len(steps) != 0 {
			t.Errorf("%s: unpacked twice", tt.name)
		}
	}
	if left, err := os.ReadDir(filepath.Join(b.dir, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("tmp holds %v (%v)", left, err)
	}
}

// Tests and testdata are not part of the SDK: editing one changes no executor.
func TestSDKID(t *testing.T) {
	t.Parallel()
	sdk, err := loadSDK()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sdk.names {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata") {
			t.Errorf("%s travels", name)
		}
	}
	for _, want := range []string{"clients/http/http.go", "executor/executor.go", "internal/wire/wire.pb.go"} {
		if _, ok := sdk.sources[want]; !ok {
			t.Errorf("%s is missing", want)
		}
	}
	if names := sdk.packages(); names[sdkPath+"/clients/http"] != "http" || names[sdkPath+"/internal/measure/meter"] != "" {
		t.Errorf("packages = %v", names)
	}
	if _, err := (SDK{Sources: treeSDK{os.DirFS("../..")}, Deps: nil}).load(); err == nil {
		t.Error("an SDK without an archive was taken")
	}
}
