package cli

import (
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/wire"
)

// What comes to be seen is shown in lines that no terminal obeys, whoever sent it.
func TestSeenIsSafe(t *testing.T) {
	var out strings.Builder
	l := &localRun{app: &app{stdout: &out}}
	l.seen(&wire.Seen{Text: "GET /\x1b[2J\n< X: \x9b1m\r"})
	l.seen(&wire.Seen{Text: "* check"})
	if got := out.String(); got != "\nGET /\\x1b[2J\n< X: \\x9b1m\\r\n* check\n" {
		t.Errorf("shown %q", got)
	}
}
