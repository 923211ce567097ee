// Package builtin has the built-in scenarios, which need no Go toolchain: a file for each
// protocol. Their options are passed as JSON: on the standard input of the local executor,
// which is gobench itself, and as a file to those of agents.
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

// Vus returns the scenario of the built-in name, "http", for options in JSON. It returns an
// error if there is no such built-in, or if its options are invalid or have an unknown field.
func Vus(name string, options []byte) (scenario.Vus, error) {
	p, ok := presets[name]
	if !ok {
		return nil, fmt.Errorf("no built-in scenario is called %q", name)
	}
	return p(options)
}

// decoded returns a preset that decodes its options and calls vus with them. An unknown field
// is an error; what follows the JSON value is ignored.
func decoded[T any](vus func(T) (scenario.Vus, error)) func([]byte) (scenario.Vus, error) {
	return func(b []byte) (scenario.Vus, error) {
		var options T
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields() // an option of a newer gobench would change the load
		if err := d.Decode(&options); err != nil {
			return nil, fmt.Errorf("options of the built-in scenario: %w", err)
		}
		return vus(options)
	}
}
