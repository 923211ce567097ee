package builtin

import (
	"strings"
	"testing"
)

// A load without targets is refused before a user starts.
func TestNoTargets(t *testing.T) {
	const want = "there are no targets"
	if _, err := Vus("http", []byte(`{"Connections":1,"Requests":1}`)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Vus: error %v, want %q", err, want)
	}
	if err := (HTTP{Connections: 1}).Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Check: error %v, want %q", err, want)
	}
}
