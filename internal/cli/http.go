package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/builtin"
	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// httpFlags are the flags of gobench http, and the options that check makes of them.
type httpFlags struct {
	load    loadFlags
	at      clusterFlags
	options builtin.HTTP

	method, body, bodyFile string
	headers                []string
	host, targets, curl    string
	rate                   rateValue
	stages                 []string
	rows                   builtin.Data
	order                  string

	follow               bool
	maxRedirects         int
	close                bool
	caFile, cert, keyPEM string

	target string // for people
}

// httpCommand returns gobench http. It runs the load on this machine (runHTTP), or with
// --master on agents (runHTTPAt).
func (a *app) httpCommand() *cobra.Command {
	f := new(httpFlags)
	cmd := &cobra.Command{
		Use:   "http URL",
		Short: "Put HTTP load on a URL, with no scenario: from this machine, or from a master's agents",
		Long: `Put HTTP load on a URL: a number of connections, each sending one request after the
other for a duration. Latency is measured to the last byte of the response. It needs no
scenario and no Go toolchain.

With --rate or --stage requests start on a schedule instead, whatever the target
does, and the connections serve them. A request that finds no free connection waits,
and its response time counts from when it was due, so that a stall of the target shows.

Instead of the URL, --targets FILE lists requests that are sent in turn, and --curl
takes a command that a browser copied. The path, headers and body may contain {{seq}},
{{uuid}}, {{rand 1 100}}, {{vu}} and, from the rows of a CSV or JSON lines file,
{{data.COLUMN}}; docs/templates.md.

With --master the agents of a master share the load: the view, the report and the exit
status are the same, and files and standard input are sent along. Connections, requests
and rates are those of all agents together.`,
		Example: `  gobench http http://localhost:8080/
  gobench http -c 100 -d 30s https://localhost:8443/ -k
  gobench http -n 10000 -m POST -H 'Content-Type: application/json' -b '{"a":1}' http://localhost:8080/items
  gobench http -c 50 --rate 2000 -d 30s --warmup 5s http://localhost:8080/
  gobench http -c 200 --stage 500/30s --stage 2000/1m --poisson http://localhost:8080/
  gobench http -d 30s 'http://localhost:8080/items/{{rand 1 1000}}'
  gobench http --data users.csv -b '{"user":"{{json data.name}}","id":{{seq}}}' http://localhost:8080/users
  echo 'GET http://localhost:8080/' | gobench http --targets - --rate 50/1s -d 10s
  gobench http --curl "curl 'http://localhost:8080/' -H 'Accept: text/html' --compressed"
  gobench http -c 30 -d 30s --threshold 'http.latency p99 < 200ms' http://localhost:8080/
  gobench http -c 30 -d 10s -o result.json http://localhost:8080/
  gobench http -c 3000 --rate 60000 -d 1m http://localhost:9090/ --master http://127.0.0.1:8080`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			if f.remote() {
				return a.runHTTPAt(cmd, f)
			}
			return a.runHTTP(cmd, f)
		},
	}
	f.add(cmd)
	return cmd
}

// add adds all flags of gobench http to cmd, --master included.
func (f *httpFlags) add(cmd *cobra.Command) {
	o, fs := &f.options, cmd.Flags()
	fs.IntVarP(&o.Connections, "connections", "c", 10, "connections, each a user")
	timeVar(fs, &f.load.duration, "duration", "d", 10*time.Second, "end after this time; with -n, whichever comes first")
	fs.IntVarP(&o.Requests, "requests", "n", 0, "end after this number of requests over all connections")
	fs.VarP(&f.rate, "rate", "r", "start this number of requests a second, on a schedule; also as 50/1s or 3000/1m")
	fs.StringArrayVar(&f.stages, "stage", nil, "a stage of the schedule, as 500/30s: the rate changes linearly to 500/s in 30 s; the first stage is constant; may be repeated")
	fs.BoolVar(&o.Poisson, "poisson", false, "make the schedule a Poisson process (default evenly spaced)")
	fs.BoolVar(&o.Drop, "drop", false, "drop and count a request that finds no free connection")
	fs.StringVar(&f.host, "host", "", "`HOST[:PORT]` to send to instead of a URL: http://HOST/")
	fs.StringVarP(&f.method, "method", "m", "GET", "request method (default POST with a body)")
	fs.StringArrayVarP(&f.headers, "header", "H", nil, "a header, as 'Name: value'; may be repeated")
	fs.StringVarP(&f.body, "body", "b", "", "request body, or @FILE, or @- for standard input")
	fs.StringVarP(&f.bodyFile, "body-file", "D", "", "request body from this `FILE`, - for standard input")
	fs.StringVar(&f.targets, "targets", "", "send the requests that this `FILE` lists, in turn; - for standard input; docs/targets.md")
	fs.StringVar(&f.curl, "curl", "", "send the request that this curl `COMMAND` would send")
	fs.StringVar(&f.rows.File, "data", "", "replace {{data.COLUMN}} by values from the rows of this `FILE`: "+builtin.Endings+"; the load ends after the last row")
	fs.StringVar(&f.order, "data-order", "sequential", "which row a request uses: sequential (each once), random, or unique (each connection has its own)")
	fs.BoolVar(&f.rows.Wrap, "data-wrap", false, "start again after the last row")
	fs.BoolVar(&o.Literal, "literal", false, "send {{ unchanged: no templates")
	f.addClient(cmd)
	fs.VarP((*threadsValue)(&o.Threads), "threads", "t", "operating system threads that run the load's code at once (default as many as there are CPUs)")
	for _, name := range []string{"targets", "body-file"} {
		_ = cmd.MarkFlagFilename(name)
	}
	_ = cmd.MarkFlagFilename("data", "csv", "tsv", "jsonl", "ndjson")
	_ = cmd.RegisterFlagCompletionFunc("data-order", cobra.FixedCompletions(orders, cobra.ShellCompDirectiveNoFileComp))
	f.load.add(cmd, "load this time before --duration begins, and leave it out of the totals; the series has it")
	f.at.master.addAs(cmd, "`URL` of a master whose agents make the load", "master-cacert")
	f.at.add(cmd)
}

// check sets f.options and f.target, with the contents of files and standard input, and
// changes f.load.duration, warmup and graceful to what the run needs. It returns a usage error that
// names the first wrong flag. Call it once.
func (f *httpFlags) check(cmd *cobra.Command, args []string) error {
	if err := f.load.check(cmd); err != nil {
		return err
	}
	if err := f.checkPlace(cmd); err != nil {
		return err
	}
	for _, step := range []func(*cobra.Command) error{
		func(cmd *cobra.Command) error { return f.takeTargets(cmd, args) }, f.takeClient, f.takeLoad, f.takeSchedule, f.takeData,
	} {
		if err := step(cmd); err != nil {
			return err
		}
	}
	return nil
}

// runHTTP runs the load on this machine, in an executor process of this program, and shows
// and reports it; see localRun.run for the error. f must have been checked.
func (a *app) runHTTP(cmd *cobra.Command, f *httpFlags) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	options, err := json.Marshal(f.options)
	if err != nil {
		return err
	}
	o := local.Options{Name: "http", Config: run.Config{Target: redact.Line(f.target), Options: f.options.Settings()}, Env: f.load.allowed.env()}
	o.Prepare = func(context.Context) (local.Program, error) {
		build.StopBackground()
		return local.Program{Path: self, Args: []string{executorCommand, "http"}, Input: options}, nil
	}
	return a.newLocalRun(f.load, o).run(cmd.Context())
}

var orders = []string{data.Sequential.String(), data.Random.String(), data.Unique.String()}

// takeData sets options.Data to the file of --data, as an absolute path, and checks the
// client's options and the templates of all targets against it. An error is a usage error.
// It must follow the other steps of check.
func (f *httpFlags) takeData(cmd *cobra.Command) error {
	o, given := &f.options, cmd.Flags().Changed
	number := slices.Index(orders, f.order)
	switch {
	case number < 0:
		return usageError("", "--data-order is %q: want %s", f.order, strings.Join(orders, ", "))
	case f.rows.File == "" && (given("data-order") || given("data-wrap")):
		return usageError("", "--data-order and --data-wrap need --data FILE")
	case f.rows.File != "" && o.Literal:
		return usageError("", "--data and --literal exclude each other: {{data.COLUMN}} is a template")
	case f.rows.File != "":
		full, err := filepath.Abs(f.rows.File)
		if err != nil {
			return usageError("", "--data: %v", err)
		}
		o.Data = &builtin.Data{File: full, Order: data.Order(number), Wrap: f.rows.Wrap}
	}
	checked := *o
	if f.remote() {
		checked.Client.Sources = nil // addresses of the agents' hosts
	}
	if err := checked.Client.Check(); err != nil {
		return usageError("", "%w", err)
	}
	if err := checked.Check(); err != nil {
		return usageError("docs/templates.md lists what may stand between braces; --literal sends them unchanged; --data FILE has the rows of {{data.COLUMN}}", "%w", err)
	}
	return nil
}

// takeLoad sets the options' connections, requests, duration and warmup, or returns a usage
// error. --requests without --duration makes the duration 0 (no limit); --once makes one
// connection send each target once. It must follow takeTargets.
func (f *httpFlags) takeLoad(cmd *cobra.Command) error {
	o, load := &f.options, &f.load
	switch {
	case o.Connections < 1:
		return usageError("", "--connections is %d: want 1 or more", o.Connections)
	case o.Requests < 0:
		return usageError("", "--requests is %d: want 1 or more", o.Requests)
	case load.duration == 0 && o.Requests == 0:
		return usageError("", "--duration is 0: want a time above 0, or a number of --requests")
	}
	if o.Requests > 0 && !cmd.Flags().Changed("duration") {
		load.duration = 0 // the requests alone decide
	}
	if load.inside.once {
		o.Connections, load.duration, load.inside.iterations = 1, 0, int64(len(o.Targets))
		o.Requests = len(o.Targets)
	}
	o.Duration, o.Warmup = load.duration, load.warmup
	return nil
}

// takeSchedule sets options.Stages of --rate or --stage, which then decide when the run ends:
// load.duration and load.warmup become 0. Without a schedule it adds the warmup to
// load.duration instead, unless that is 0 (no limit). Flags that exclude each other are a
// usage error. It must follow takeLoad.
func (f *httpFlags) takeSchedule(cmd *cobra.Command) error {
	o, load := &f.options, &f.load
	given := cmd.Flags().Changed
	switch {
	case given("rate") && given("stage"):
		return usageError("--stage 500/30s --stage 500/5m holds 500/s", "--rate and --stage exclude each other")
	case (given("rate") || given("stage")) && o.Requests > 0:
		return usageError("", "--requests can't be used with a schedule: it has --rate times --duration requests")
	case given("rate"):
		if load.duration == 0 {
			return usageError("", "--rate needs a --duration above 0")
		}
		o.Stages = []scenario.Rate{{To: float64(f.rate), Over: load.duration}}
	case given("stage"):
		if given("duration") {
			return usageError("", "--stage and --duration exclude each other: the stages have their durations")
		}
		var err error
		if o.Stages, err = builtin.ParseStages(f.stages); err != nil {
			return err
		}
	default:
		if o.Poisson || o.Drop {
			return usageError("", "--poisson and --drop need a schedule: add --rate or --stage")
		}
		if load.duration > 0 {
			load.duration += load.warmup
		}
		return nil
	}
	load.duration = 0 // the schedule decides
	load.warmup = 0   // it is one of its stages
	return nil
}

// rateValue is the flag of a rate: 50, 50/s, 50/1s, 3000/1m.
type rateValue float64

// Set stores the rate as a number a second (builtin.ParseRate). On an error the value is
// unchanged.
func (r *rateValue) Set(s string) error {
	n, err := builtin.ParseRate(s)
	if err == nil {
		*r = rateValue(n)
	}
	return err
}

func (r *rateValue) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }
func (r *rateValue) Type() string   { return "rate" }

// threadsValue is the flag of a number of threads; 0: as the Go runtime chooses.
type threadsValue int

// Set parses a number from 1 to 1024. On an error, which points out --timeout if s is a
// time, the value is unchanged.
func (t *threadsValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		if _, err := time.ParseDuration(s); err == nil {
			return fmt.Errorf("it is a number of threads; --timeout %s is the time limit of a request", s)
		}
		return errors.New("want a number of threads")
	case n < 1 || n > 1024:
		return errors.New("want 1 to 1024")
	}
	*t = threadsValue(n)
	return nil
}

func (t *threadsValue) String() string { return strconv.Itoa(int(*t)) }
func (t *threadsValue) Type() string   { return "int" }
