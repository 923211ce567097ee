package cli

import (
	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// remote reports whether a master's agents make the load.
func (f *httpFlags) remote() bool { return f.at.master.url != "" }

// checkPlace returns a usage error for a flag that does not suit where the load is made: one
// that needs a master without --master, or one of this machine with it. f.load must have been
// checked.
func (f *httpFlags) checkPlace(cmd *cobra.Command) error {
	if !f.remote() {
		return f.at.refuseLocal(cmd)
	}
	if f.options.Client.KeyLog != "" {
		return usageError("run it without --master", "--tls-key-log is only for runs on this machine")
	}
	return f.load.inside.refuseRemote()
}

// runHTTPAt makes the load on a master's agents and follows it to its end; see submitAndFollow
// for its errors. More than client.MaxSource bytes are a usage error. f must have been checked.
func (a *app) runHTTPAt(cmd *cobra.Command, f *httpFlags) error {
	o := f.at.options()
	o.Builtin = &run.Builtin{Target: redact.Line(f.target), Options: f.options.Settings()}
	source, err := f.options.Source()
	if err != nil {
		return err
	}
	size := 0
	for _, file := range source.Files {
		size += len(file.Data)
	}
	if size > client.MaxSource {
		return usageError("", "the requests and rows of this load are %.1f MB: a master takes %d MB", float64(size)/(1<<20), client.MaxSource>>20)
	}
	return a.submitAndFollow(cmd.Context(), f.at.master, f.load, "http", submission("http", source, &f.load, o))
}
