package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

// Read returns what JSON wrote; another file is refused with an error that names it.
func TestReadIsJSONBackwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	var b bytes.Buffer
	if err := JSON(&b, checked(), seriesOf); err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(b.Bytes())
	r, each, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // any number of times
		var again bytes.Buffer
		if err := JSON(&again, r, each); err != nil || !bytes.Equal(again.Bytes(), b.Bytes()) {
			t.Errorf("read back: %v\n%s", err, again.Bytes())
		}
	}
	broken := errors.New("enough of it")
	if err := each(func(run.Interval) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the yield's error: %v", err)
	}
	for name, text := range map[string]string{
		"no result of a run": "", "is no result": "[1]", "no result": `{"format"`, "has format \"\"": "{}", "has format \"other/1\"": `{"format":"other/1"}`, "cannot unmarshal": `{"format":3}`,
		`its state is "\x1b[2J"`: `{"format":"gobench.result/2","state":"\u001b[2J"}`, `verdict is "GOOD"`: `{"format":"gobench.result/2","state":"failed","verdict":"GOOD"}`,
		`its id is "../x"`: `{"format":"gobench.result/2","state":"failed","id":"../x"}`, `level "pink"`: `{"format":"gobench.result/2","state":"failed","reasons":[{"level":"pink"}]}`,
		`type "odd"`: `{"format":"gobench.result/2","state":"failed","metrics":[{"title":"a","type":"odd"}]}`,
	} {
		write([]byte(text))
		if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q and the path", text, err, name)
		}
	}
	write(b.Bytes()[:b.Len()-20])
	if _, each, err = Read(path); err == nil {
		err = each(func(run.Interval) error { return nil })
	}
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v", err)
	}
}
