package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/units"
)

// parseSet parses the values of --set, as NAME=VALUE, by name; a value may be empty or
// have further equals signs. A missing or repeated name is a usage error. The map is never
// nil without an error.
func parseSet(texts []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError("write it as --set NAME=VALUE", "--set %q has no name and equals sign", text)
		}
		if _, twice := values[name]; twice {
			return nil, usageError("", "--set has %s twice", name)
		}
		values[name] = value
	}
	return values, nil
}

// helpParams prints the parameters of the scenario in args to a.stdout, after the help of
// gobench run. It compiles the scenario. Without exactly one argument it does nothing;
// errors are printed there too. ctx may be nil.
func (a *app) helpParams(ctx context.Context, args []string) {
	if len(args) != 1 {
		return
	}
	if ctx == nil {
		ctx = context.Background()
	}
	built, err := a.compile(ctx, args[0], func(event.Event) {}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintf(a.stdout, "\nParameters of %s: it does not compile; gobench run %s shows why\n", args[0], args[0])
		return
	}
	declared, err := local.Parameters(ctx, built.Path)
	if err != nil {
		fmt.Fprintf(a.stdout, "\nParameters of %s: %v\n", args[0], err)
		return
	}
	if len(declared) == 0 {
		fmt.Fprintf(a.stdout, "\n%s declares no parameters\n", args[0])
		return
	}
	fmt.Fprintf(a.stdout, "\nParameters of %s, for --set NAME=VALUE:\n", args[0])
	width := 0
	for _, p := range declared {
		width = max(width, len(p.Name))
	}
	for _, p := range declared {
		def := "has to be set"
		if p.Default != "" {
			def = fmt.Sprintf("default %q", p.Default)
		}
		fmt.Fprintf(a.stdout, "  %-*s  %s (%s)\n", width, units.Safe(p.Name), units.Safe(p.Help), units.Safe(def))
	}
}
