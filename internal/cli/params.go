package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// parseSet reads the values of --set.
func parseSet(texts []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError("write it as --set NAME=VALUE", "--set %q has no name and equals sign", text)
		}
		if _, twice := values[name]; twice {
			return nil, usageError("", "--set gives %s twice", name)
		}
		values[name] = value
	}
	return values, nil
}

// paramsEnv gives the executor the values of --set.
func paramsEnv(set map[string]string) []string {
	b, err := json.Marshal(set)
	if err != nil {
		panic(err) // strings always marshal
	}
	return []string{scenario.ParamsEnv + "=" + string(b)}
}

// errListed ends an executor that was only asked for its parameters.
var errListed = errors.New("listed")

// helpParams adds the parameters of the scenario in args, if there is one, to the
// help of gobench run.
func (a *app) helpParams(ctx context.Context, args []string) {
	if len(args) != 1 {
		return
	}
	if ctx == nil {
		ctx = context.Background()
	}
	built, err := a.compile(ctx, args[0], func(event.Event) {}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintf(a.stdout, "\nParameters of %s: it does not compile; gobench run %s says why\n", args[0], args[0])
		return
	}
	err = process.New(process.Spec{Path: built.Path, Hello: func(h *wire.Hello) error {
		if len(h.Params) == 0 {
			fmt.Fprintf(a.stdout, "\n%s declares no parameters\n", args[0])
			return errListed
		}
		fmt.Fprintf(a.stdout, "\nParameters of %s, for --set NAME=VALUE:\n", args[0])
		width := 0
		for _, p := range h.Params {
			width = max(width, len(p.Name))
		}
		for _, p := range h.Params {
			def := "has to be set"
			if p.Default != "" {
				def = fmt.Sprintf("default %q", p.Default)
			}
			fmt.Fprintf(a.stdout, "  %-*s  %s (%s)\n", width, units.Safe(p.Name), units.Safe(p.Help), units.Safe(def))
		}
		return errListed
	}}).Run(ctx)
	if !errors.Is(err, errListed) {
		fmt.Fprintf(a.stdout, "\nParameters of %s: %v\n", args[0], err)
	}
}
