// Package builtin holds the built-in scenarios, those that need no Go toolchain: a
// file for each protocol. Their options travel as JSON: to the standard input of the
// executor, which is gobench itself, and to those of agents as a file.
package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gobench-io/gobench/executor/scenario"
)

var presets = map[string]func(options []byte) (scenario.Vus, error){
	"http": decoded(HTTP.Vus),
}

// Vus gives the scenario of the built-in called name.
func Vus(name string, options []byte) (scenario.Vus, error) {
	p, ok := presets[name]
	if !ok {
		return nil, fmt.Errorf("no built-in scenario is called %q", name)
	}
	return p(options)
}

// decoded makes a preset of a function of its decoded options.
func decoded[T any](vus func(T) (scenario.Vus, error)) func([]byte) (scenario.Vus, error) {
	return func(b []byte) (scenario.Vus, error) {
		var options T
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields() // those of a newer gobench, whose load would be another one
		if err := d.Decode(&options); err != nil {
			return nil, fmt.Errorf("options of the built-in scenario: %w", err)
		}
		return vus(options)
	}
}
