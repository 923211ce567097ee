package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/long"
)

// The user's lines of go.mod stay, and lines of an earlier gobench are removed.
func TestRequireTakesTheEarlierSDKsPlace(t *testing.T) {
	t.Parallel()
	const own = `module shop

go 1.26

require (
	example.com/own v1.2.3
	github.com/gobench-io/gobench v0.0.0
)

require (
	example.com/gone v1.0.0 // indirect
	google.golang.org/protobuf v1.99.0
)

replace example.com/own => ./own

// For editors and go vet: gobench init --sdk writes these. gobench run needs none.
replace (
	example.com/gone v1.0.0 => ./.gobench/sdk/third_party/example.com/gone@v1.0.0
	github.com/gobench-io/gobench => ./.gobench/sdk/gobench
	google.golang.org/protobuf v1.0.0 => ./.gobench/sdk/third_party/google.golang.org/protobuf@v1.0.0
)
`
	sdk := testSDK()
	once, err := sdk.Require("go.mod", []byte(own))
	if err != nil {
		t.Fatal(err)
	}
	twice, err := sdk.Require("go.mod", once)
	if err != nil || string(twice) != string(once) {
		t.Errorf("a second call: error %v, gives\n%s\nand not\n%s", err, twice, once)
	}
	for _, want := range []string{"example.com/own v1.2.3", "example.com/own => ./own", "protobuf v1.99.0", "gobench => ./.gobench/sdk/gobench", "brotli@v"} {
		if !strings.Contains(string(once), want) {
			t.Errorf("%q is missing in\n%s", want, once)
		}
	}
	for _, old := range []string{"example.com/gone", "protobuf@v1.0.0"} {
		if strings.Contains(string(once), old) {
			t.Errorf("%q is left in\n%s", old, once)
		}
	}
	if n := strings.Count(string(once), "For editors"); n != 1 {
		t.Errorf("%d comments in\n%s", n, once)
	}
}

// Every line for editors points to an existing module, and tests are left out.
func TestEditorDirHasWhatGoModNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sdk := smallSDK(t)
	if long.Run {
		sdk = testSDK()
	}
	for range 2 { // the second replaces the first
		if err := sdk.WriteEditorDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	text, err := sdk.Require("go.mod", []byte("module shop\n"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := checkModText(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) < 5 {
		t.Errorf("%d replace lines in\n%s", len(mod.Replace), text)
	}
	for _, r := range mod.Replace {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.New.Path), "go.mod")); err != nil {
			t.Errorf("%s: %v", r.Old.Path, err)
		}
	}
	if tests, _ := filepath.Glob(filepath.Join(dir, EditorDir, "sdk/gobench/*/*_test.go")); len(tests) > 0 {
		t.Errorf("%d tests were written, as %s", len(tests), tests[0])
	}
}
