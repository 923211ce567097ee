package build

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
)

// publish adds a module of one file to a proxy directory.
func publish(t *testing.T, proxy, module, version, source string) {
	t.Helper()
	publishFiles(t, proxy, module, version, map[string]string{"go.mod": "module " + module + "\n\ngo 1.20\n", "thing.go": source})
}

func publishFiles(t *testing.T, proxy, module, version string, content map[string]string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, text := range content {
		w, err := z.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list": append(list, (version + "\n")...), version + ".mod": []byte(content["go.mod"]), version + ".zip": buf.Bytes(),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-02T03:04:05Z"}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Modules are fetched from the user's proxy. They are cached: an edited scenario has the
// same version and does not need the proxy.
func TestOwnProxy(t *testing.T) {
	t.Parallel()
	proxy := t.TempDir()
	publish(t, proxy, "example.com/thing", "v1.0.0", "package thing\n\nconst Version = 1\n")
	using := strings.Replace(small, "import (", "import (\n\t\"example.com/thing\"", 1) + "\nvar _ = thing.Version\n"
	dir := files(t, map[string]string{"scenario.go": using})
	scenario := filepath.Join(dir, "scenario.go")
	b := newBuilderIn(t, t.TempDir())
	var steps []string
	o := offline()
	o.Person.Vars = map[string]string{"GOPROXY": "file://" + proxy, "GOSUMDB": "off", "GOFLAGS": "-toolexec=/bin/false", "CGO_ENABLED": "1"}
	o.Progress = func(s string) { steps = append(steps, s) }

	before := snapshot(t, dir)
	first := mustBuild(t, b, scenario, o)
	const note = `import "example.com/thing" is of example.com/thing v1.0.0; require another version in go.mod to have that`
	if !slices.Contains(first.Notes, note) {
		t.Errorf("notes = %q, want %q", first.Notes, note)
	}
	if !slices.Contains(steps, "downloading example.com/thing v1.0.0") {
		t.Errorf("steps = %q lack the download", steps)
	}
	if again := mustBuild(t, b, scenario, o); !again.Cached || !slices.Equal(again.Notes, first.Notes) {
		t.Errorf("again = %+v, want it cached with the same notes", again)
	}
	snapshotEqual(t, before, dir)

	publish(t, proxy, "example.com/thing", "v1.1.0", "package thing // Version is gone\n")
	if err := os.WriteFile(scenario, []byte(using+"\n// edited\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(proxy); err != nil {
		t.Fatal(err)
	}
	o.Person.Vars["GOPROXY"] = "off"
	if e := mustBuild(t, b, scenario, o); e.Cached || !slices.Contains(e.Notes, note) {
		t.Error("the edited scenario was not compiled, with the same version", e)
	}
	// The cache can be removed: go's own is read-only by default.
	if err := os.RemoveAll(filepath.Join(b.dir, "mod")); err != nil {
		t.Error(err)
	}
}

func snapshotEqual(t *testing.T, before map[string]string, dir string) {
	t.Helper()
	after := snapshot(t, dir)
	for name, old := range before {
		if after[name] != old {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

// The user's go.mod and go.sum decide the version: an older one than the newest is used,
// and one with a different sum is refused.
func TestTestersModFiles(t *testing.T) {
	t.Parallel()
	proxy := t.TempDir()
	publish(t, proxy, "example.com/thing", "v1.0.0", "package thing\n\nconst Old = 1\n")
	publish(t, proxy, "example.com/thing", "v1.1.0", "package thing\n\nconst New = 1\n")
	using := strings.Replace(small, "import (", "import (\n\t\"example.com/thing\"", 1) + "\nvar _ = thing.Old\n"
	dir := files(t, map[string]string{"scenario.go": using, "go.mod": "module shop\n\ngo 1.26\n\nrequire example.com/thing v1.0.0\n"})
	o := offline()
	o.Person.Vars = map[string]string{"GOPROXY": "file://" + proxy, "GOSUMDB": "off"}
	b := newBuilderIn(t, t.TempDir())
	before := snapshot(t, dir)
	mustBuild(t, b, dir, o)
	snapshotEqual(t, before, dir)

	const sum = "example.com/thing v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := b.Build(context.Background(), Source{Path: dir, As: "x"}, o)
	checkRefusal(t, err, "*build.CompileError", []string{"checksum mismatch"})
}

// blackHole is a proxy that accepts connections and never answers.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return "http://" + l.Addr().String()
}

// A download that hangs ends with the time limit, and at once if the context is cancelled;
// the next build is not affected.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"scenario.go": strings.Replace(small, "import (", "import (\n\t_ \"example.com/thing\"", 1)})
	b := newBuilder(t)
	o := offline()
	o.Person.Vars = map[string]string{"GOPROXY": blackHole(t), "GOSUMDB": "off"}
	o.Limits.Time = 5 * time.Second
	start := time.Now()
	_, err := b.Build(context.Background(), Source{Path: dir}, o)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Resource != "time" || limit.Limit != "5s" || !strings.Contains(limit.Step, "example.com/thing") {
		t.Errorf("error = %v, want the time limit while finding example.com/thing", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("a limit of 5 s took %v", took)
	}

	o.Limits.Time = 5 * time.Minute
	gaveUp := errors.New("gave up")
	ctx, cancel := context.WithCancelCause(context.Background())
	o.Progress = func(step string) {
		if strings.Contains(step, "example.com/thing") {
			cancel(gaveUp)
		}
	}
	start = time.Now()
	if _, err := b.Build(ctx, Source{Path: dir}, o); !errors.Is(err, gaveUp) {
		t.Errorf("error = %v, want the caller's", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("giving up took %v", took)
	}
	start = time.Now()
	mustBuild(t, b, files(t, map[string]string{"scenario.go": small + "// after\n"}), offline())
	t.Log("the next build took", time.Since(start))
}

// The modules in the archive have the packages that gobench needs. For a scenario that
// needs another package of one of them, the whole module is fetched from the proxy, in the
// same version.
func TestWholeModule(t *testing.T) {
	t.Parallel()
	b := newBuilderIn(t, t.TempDir())
	sdk, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	var net module.Version
	for _, r := range sdk.mod.Require {
		if r.Mod.Path == "golang.org/x/net" {
			net = r.Mod
		}
	}
	content := map[string]string{"extra/extra.go": "package extra\n\nconst Text = 1\n"}
	err = eachDep(sdk.deps, func(name string, r io.Reader) error {
		if rest, ok := strings.CutPrefix(name, "third_party/"+net.Path+"@"+net.Version+"/"); ok {
			data, err := io.ReadAll(r)
			content[rest] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	publishFiles(t, proxy, net.Path, net.Version, content)
	publish(t, proxy, "example.com/thing", "v1.0.0", "package thing\n\nimport _ \"golang.org/x/net/extra\"\n")
	o := offline()
	o.Person.Vars = map[string]string{"GOPROXY": "file://" + proxy, "GOSUMDB": "off"}
	for _, tt := range []struct{ name, target string }{{"imported", net.Path + "/extra"}, {"imported by what is imported", "example.com/thing"}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := files(t, map[string]string{"scenario.go": strings.Replace(small, "import (", "import (\n\t_ \""+tt.target+"\"\n", 1)})
			mustBuild(t, b, dir, o)
		})
	}
}
