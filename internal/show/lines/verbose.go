package lines

import (
	"bytes"
	"io"
	"log/slog"
	"strings"

	"github.com/gobench-io/gobench/internal/run/units"
)

// NewLog returns the log of --verbose, which writes lines of text without levels to w.
func NewLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.LevelKey:
			return slog.Attr{}
		case a.Key == slog.TimeKey:
			return slog.String(slog.TimeKey, a.Value.Time().Format("15:04:05.000"))
		}
		return a
	}}))
}

// ExecutorLog returns lines of an executor's log, each its time and a text, as lines of NewLog.
func ExecutorLog(text string) []byte {
	var out bytes.Buffer
	log := NewLog(&out)
	for line := range strings.Lines(text) {
		at, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		log.Info(text, "by", "executor", "at", at)
	}
	return out.Bytes()
}

// Seen returns an exchange, check or step of --once as it is shown: with an empty line before
// an exchange, and without characters that control a terminal.
func Seen(text string) string {
	var b strings.Builder
	if !strings.HasPrefix(text, "* ") { // a check or a step belongs to what came before
		b.WriteString("\n")
	}
	for line := range strings.Lines(text) {
		b.WriteString(units.Safe(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
