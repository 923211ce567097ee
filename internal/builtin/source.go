package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/run"
)

// optionsFile is the file with the options of a load that agents make.
const optionsFile = "options.json"

// httpScenario is the scenario that agents run. It is the same for all loads, so that a
// master compiles it once for a platform.
const httpScenario = `// The load of gobench http. Its options are in ` + optionsFile + `.
package main

import (
	"github.com/gobench-io/gobench/executor/builtin"
	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return builtin.Load("http", "` + optionsFile + `") }
`

// Source returns what agents run for the options: a scenario, the options in a private file,
// and the rows of Data, whose file it reads. An error of that is a *run.UsageError; with an
// error the source is incomplete.
func (o HTTP) Source() (run.Source, error) {
	s := run.Source{Scenario: httpScenario}
	if o.Data != nil {
		rows, err := os.ReadFile(o.Data.File)
		if err != nil {
			return s, run.Usage("", "--data: %w", err)
		}
		data := *o.Data
		data.File = "data" + filepath.Ext(data.File)
		o.Data = &data
		s.Files = append(s.Files, run.File{Path: data.File, Data: rows, Private: true})
	}
	options, err := json.Marshal(o)
	s.Files = append(s.Files, run.File{Path: optionsFile, Data: options, Private: true})
	return s, err
}

// Settings returns the options that reports show, by name, formatted as text. It needs at
// least one target: body_bytes is of the first.
func (o HTTP) Settings() map[string]string {
	config := map[string]string{
		"connections": fmt.Sprint(o.Connections), "requests": fmt.Sprint(o.Requests), "timeout": o.Client.Timeout.String(), "body_bytes": fmt.Sprint(len(o.Targets[0].Body)),
	}
	if o.Client.Streams > 1 {
		config["streams"] = fmt.Sprint(o.Client.Streams)
	}
	if o.Data != nil {
		config["data"], config["data_order"], config["data_wrap"] = o.Data.File, o.Data.Order.String(), fmt.Sprint(o.Data.Wrap)
	}
	return config
}
