package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every signal has a row in the table of docs/truth.md.
func TestSignalsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "truth.md"))
	if err != nil {
		t.Fatal(err)
	}
	strip, err := os.ReadFile(filepath.Join("..", "..", "..", "ui", "src", "strip.ts"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{StartLag, Rate, Neighbours, LocalFiles, LocalPorts, Totals}
	for _, s := range signals {
		if !s.note {
			names = append(names, s.name)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(page), "\n| `"+name+"`") {
			t.Errorf("docs/truth.md has no row for the signal %s", name)
		}
		if name != Totals && !strings.Contains(string(strip), "\n  "+name+": '") {
			t.Errorf("ui/src/strip.ts has no name for the signal %s", name)
		}
	}
}
