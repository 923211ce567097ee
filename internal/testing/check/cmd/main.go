// Command checker verifies that a master's store has exactly what its executors counted:
//
//	go run ./internal/testing/check/cmd --db FILE|postgres://... [--ledgers FOLDER] [--targets FILE] [RUN]
//
// It prints a line for each broken invariant. It exits with status 1 if there is one, and 2
// if it could not check. internal/testing/check lists the invariants.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/gobench-io/gobench/internal/testing/check"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command does what main does, with args without the program's name: it prints a line for each
// violation to out, and errors to trouble. It returns the exit status: 0, 1 if it found
// violations, 2 if it could not check or an argument is wrong.
func command(ctx context.Context, args []string, out, trouble io.Writer) int {
	var o check.Options
	fs := flag.NewFlagSet("checker", flag.ContinueOnError)
	fs.SetOutput(trouble)
	fs.StringVar(&o.DB, "db", "", "`FILE` of SQLite, or postgres://... (needed)")
	fs.StringVar(&o.Ledgers, "ledgers", "", "`FOLDER` of the executors' ledgers: that of agents' --ledger")
	targets := fs.String("targets", "", "`FILE` of what targets counted, as JSON: {\"RUN\": {\"home.http_ok\": 500, \"users\": 100}}")
	fs.StringVar(&o.Backup, "backup", "", "`FILE` of a backup of --db, which is checked too")
	fs.StringVar(&o.API, "api", "", "`URL` of the master, whose API and reports are checked too")
	fs.StringVar(&o.Token, "token", os.Getenv("GOBENCH_TOKEN"), "API `TOKEN` of a user who may read (default $GOBENCH_TOKEN)")
	fs.StringVar(&o.Gobench, "gobench", "", "`FILE` of the program, whose show is checked too; with --api")
	fs.BoolVar(&o.Host, "host", false, "check that nothing of a run is left on this host")
	work := fs.String("work", "", "`FOLDERS` of agents' --work, with commas between, for --host (default the temporary ones)")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if o.DB == "" || fs.NArg() > 1 {
		fmt.Fprintln(trouble, "checker: --db FILE is needed, and one run's id at most")
		return 2
	}
	o.Run = fs.Arg(0)
	if *work != "" {
		o.Work = strings.Split(*work, ",")
	}
	if *targets != "" {
		b, err := os.ReadFile(*targets)
		if err == nil {
			err = json.Unmarshal(b, &o.Targets)
		}
		if err != nil {
			fmt.Fprintln(trouble, "checker: --targets:", err)
			return 2
		}
	}
	found, err := check.Check(ctx, o)
	for _, v := range found {
		fmt.Fprintln(out, v)
	}
	switch {
	case err != nil:
		fmt.Fprintln(trouble, "checker:", err)
		return 2
	case len(found) > 0:
		return 1
	}
	return 0
}
