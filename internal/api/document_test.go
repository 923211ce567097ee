package api

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// TestDocumentIsCommitted holds docs/openapi.json against the routes.
func TestDocumentIsCommitted(t *testing.T) {
	const file = "../../docs/openapi.json"
	want := Document()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/openapi.json is not what the routes say: go test ./internal/api -run Document -update")
	}
}
