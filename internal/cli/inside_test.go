package cli

import (
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/wire"
)

// What is shown has no characters that control a terminal, whatever was sent.
func TestSeenIsSafe(t *testing.T) {
	var out strings.Builder
	l := (&app{stdout: &out}).newLocalRun(loadFlags{}, local.Options{})
	l.seen(&wire.Seen{Text: "GET /\x1b[2J\n< X: \x9b1m\r"})
	l.seen(&wire.Seen{Text: "* check"})
	if got := out.String(); got != "\nGET /\\x1b[2J\n< X: \\x9b1m\\r\n* check\n" {
		t.Errorf("shown %q", got)
	}
}
