package cli

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// httpScenario is the scenario that agents run. It is the same for all loads, so that a
// master compiles it once for a platform; optionsFile has the options of one load.
const httpScenario = `// The load of gobench http. Its options are in ` + optionsFile + `.
package main

import (
	"github.com/gobench-io/gobench/executor/builtin"
	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return builtin.Load("http", "` + optionsFile + `") }
`

const optionsFile = "options.json"

// remote reports whether a master's agents make the load.
func (f *httpFlags) remote() bool { return f.at.master.url != "" }

// checkPlace returns a usage error for a flag that does not suit where the load is made:
// one that needs a master without --master, or one of this machine with it.
func (f *httpFlags) checkPlace(cmd *cobra.Command) error {
	if !f.remote() {
		return f.at.refuseLocal(cmd)
	}
	if f.options.Client.KeyLog != "" {
		return usageError("run it without --master", "--tls-key-log is only for runs on this machine")
	}
	return f.load.inside.refuseRemote()
}

// runHTTPAt makes the load on a master's agents and follows it to its end; see source and
// submitAndFollow for its errors. f must have been checked.
func (a *app) runHTTPAt(cmd *cobra.Command, f *httpFlags) error {
	o := f.at.options()
	o.Builtin = &run.Builtin{Target: redact.Line(f.target), Options: f.settings()}
	source, err := f.source()
	if err != nil {
		return err
	}
	return a.submitAndFollow(cmd.Context(), f.at.master, f.load, "http", submission("http", source, &f.load, o))
}

// source returns what agents run: the scenario, its options with the contents of files and
// standard input, and the rows of --data. More than client.MaxSource bytes, and a file of
// rows that can't be read, are usage errors; s is then not usable. f is not changed.
func (f *httpFlags) source() (s run.Source, err error) {
	s.Scenario = httpScenario
	o := f.options
	if o.Data != nil {
		rows, err := os.ReadFile(o.Data.File)
		if err != nil {
			return s, named("--data", err)
		}
		data := *o.Data
		data.File = "data" + filepath.Ext(data.File)
		o.Data = &data
		s.Files = append(s.Files, run.File{Path: data.File, Data: rows, Private: true})
	}
	options, err := json.Marshal(o)
	if err != nil {
		return s, err
	}
	s.Files = append(s.Files, run.File{Path: optionsFile, Data: options, Private: true})
	size := 0
	for _, file := range s.Files {
		size += len(file.Data)
	}
	if size > client.MaxSource {
		return s, usageError("", "the requests and rows of this load are %.1f MB: a master takes %d MB", float64(size)/(1<<20), client.MaxSource>>20)
	}
	return s, nil
}
