package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/preset"
	"github.com/gobench-io/gobench/internal/run"
)

func (a *app) httpCommand() *cobra.Command {
	var load loadFlags
	o := preset.HTTP{}
	var headers, stages []string
	var body, order string
	rows := preset.Data{}
	var rate float64
	cmd := &cobra.Command{
		Use:   "http URL",
		Short: "Put HTTP load on a URL: no scenario, no Go toolchain",
		Long: `Put HTTP load on a URL: so many connections, each sending one request after the
other for so long. Latency is taken to the last byte of the answer.

With --rate or --stage requests start on a schedule instead, whatever the target
does, and the connections serve them. A request that finds no connection free waits,
and its response time counts from when it was due: a stall of the target shows.`,
		Example: `  gobench http http://localhost:8080/
  gobench http -c 100 -d 30s https://localhost:8443/ -k
  gobench http -n 10000 -m POST -H 'Content-Type: application/json' -b '{"a":1}' http://localhost:8080/items
  gobench http -c 50 --rate 2000 -d 30s --warmup 5s http://localhost:8080/
  gobench http -c 200 --stage 500/30s --stage 2000/1m --poisson http://localhost:8080/
  gobench http -d 30s 'http://localhost:8080/items/{{rand 1 1000}}'
  gobench http --data users.csv -b '{"user":"{{json data.name}}","id":{{seq}}}' http://localhost:8080/users
  gobench http -c 30 -d 30s --threshold 'http.latency p99 < 200ms' http://localhost:8080/
  gobench http -c 30 -d 10s -o result.json http://localhost:8080/`,
		Args: exactArgs(1, "the URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := load.check(cmd); err != nil {
				return err
			}
			o.URL = args[0]
			var err error
			if o.Headers, err = parseHeaders(headers); err != nil {
				return err
			}
			if o.Body, err = readBody(body); err != nil {
				return err
			}
			if !cmd.Flags().Changed("method") && len(o.Body) > 0 {
				o.Method = "POST"
			}
			if err := checkHTTP(cmd, &o, &load); err != nil {
				return err
			}
			if err := schedule(cmd, &o, &load, rate, stages); err != nil {
				return err
			}
			if err := takeData(cmd, &o, rows, order); err != nil {
				return err
			}
			return a.runHTTP(cmd, o, load)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.Connections, "connections", "c", 10, "connections, each a user")
	f.DurationVarP(&load.duration, "duration", "d", 10*time.Second, "end after this time; with -n, whichever comes first")
	f.IntVarP(&o.Requests, "requests", "n", 0, "end after so many requests over all connections")
	f.Float64Var(&rate, "rate", 0, "start so many requests a second, on a schedule")
	f.StringArrayVar(&stages, "stage", nil, "a stage of the schedule, as 500/30s: the rate goes in a straight line to 500/s in 30 s; the first holds its own; may be repeated")
	f.BoolVar(&o.Poisson, "poisson", false, "the schedule is a Poisson process; else evenly spaced")
	f.BoolVar(&o.Drop, "drop", false, "drop and count a request that finds no connection free")
	f.StringVarP(&o.Method, "method", "m", "GET", "request method (default POST when there is a body)")
	f.StringArrayVarP(&headers, "header", "H", nil, "a header, as 'Name: value'; may be repeated")
	f.StringVarP(&body, "body", "b", "", "request body, or @FILE")
	f.StringVar(&rows.File, "data", "", "fill {{data.COLUMN}} in from the rows of this `FILE`: "+preset.Endings+"; the load ends with them")
	f.StringVar(&order, "data-order", "sequential", "which row a request gets: sequential (each once), random, or unique (each connection its own)")
	f.BoolVar(&rows.Wrap, "data-wrap", false, "begin again after the last row")
	f.BoolVar(&o.Literal, "literal", false, "send {{ as it stands: no templates")
	f.DurationVarP(&o.Timeout, "timeout", "t", 60*time.Second, "time limit of a request")
	f.BoolVarP(&o.Insecure, "insecure", "k", false, "accept any server certificate")
	_ = cmd.MarkFlagFilename("data", "csv", "tsv", "jsonl", "ndjson")
	_ = cmd.RegisterFlagCompletionFunc("data-order", cobra.FixedCompletions(orders, cobra.ShellCompDirectiveNoFileComp))
	load.add(cmd)
	return cmd
}

var orders = []string{data.Sequential.String(), data.Random.String(), data.Unique.String()}

// takeData gives o the file of --data, and holds the templates against it.
func takeData(cmd *cobra.Command, o *preset.HTTP, rows preset.Data, order string) error {
	given := cmd.Flags().Changed
	number := slices.Index(orders, order)
	switch {
	case number < 0:
		return usageError("", "--data-order is %q: want %s", order, strings.Join(orders, ", "))
	case rows.File == "" && (given("data-order") || given("data-wrap")):
		return usageError("", "--data-order and --data-wrap are of a file: add --data FILE")
	case rows.File != "" && o.Literal:
		return usageError("", "--data and --literal exclude each other: {{data.COLUMN}} is a template")
	case rows.File != "":
		full, err := filepath.Abs(rows.File)
		if err != nil {
			return usageError("", "--data: %v", err)
		}
		o.Data = &preset.Data{File: full, Order: data.Order(number), Wrap: rows.Wrap}
	}
	if err := o.Check(); err != nil {
		return usageError(`docs/templates.md tells what may stand between braces; --literal sends them as they are; --data FILE has the rows of {{data.COLUMN}}`, "%w", err)
	}
	return nil
}

func (a *app) runHTTP(cmd *cobra.Command, o preset.HTTP, load loadFlags) error {
	self, err := os.Executable()
	if err != nil {
		return &exitError{exitFailed, err, ""}
	}
	options, err := json.Marshal(o)
	if err != nil {
		return &exitError{exitFailed, err, ""}
	}
	config := map[string]string{
		"connections": fmt.Sprint(o.Connections), "requests": fmt.Sprint(o.Requests), "timeout": o.Timeout.String(), "body_bytes": fmt.Sprint(len(o.Body)),
	}
	if o.Data != nil {
		config["data"], config["data_order"], config["data_wrap"] = o.Data.File, o.Data.Order.String(), fmt.Sprint(o.Data.Wrap)
	}
	l := &localRun{app: a, load: load,
		spec:   agent.Spec{Path: self, Args: []string{executorCommand, "http"}, Env: []string{preset.OptionsEnv + "=" + string(options)}},
		result: &run.Result{Name: "http", Config: run.Config{Target: o.Method + " " + o.URL, Options: config}}}
	return l.run(cmd.Context())
}

// checkHTTP refuses options that cannot be, naming the flag.
func checkHTTP(cmd *cobra.Command, o *preset.HTTP, load *loadFlags) error {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return usageError("", "the URL %q is wrong: %v", o.URL, err)
	case u.Scheme == "" || !strings.Contains(o.URL, "://"):
		return usageError("write it with its scheme: http://"+o.URL, "the URL %q has no scheme", o.URL)
	case u.Scheme != "http" && u.Scheme != "https":
		return usageError("", "the URL %q has scheme %q: want http or https", o.URL, u.Scheme)
	case u.Host == "":
		return usageError("", "the URL %q names no host", o.URL)
	case o.Connections < 1:
		return usageError("", "--connections is %d: want 1 or more", o.Connections)
	case o.Requests < 0:
		return usageError("", "--requests is %d: want 1 or more", o.Requests)
	case o.Timeout <= 0:
		return usageError("", "--timeout is %v: want a time above 0", o.Timeout)
	case load.duration == 0 && o.Requests == 0:
		return usageError("", "--duration is 0: want a time above 0, or a number of --requests")
	}
	if o.Requests > 0 && !cmd.Flags().Changed("duration") {
		load.duration = 0 // the requests alone decide
	}
	o.Duration, o.Warmup = load.duration, load.warmup
	return nil
}

// schedule gives o the stages that --rate or --stage tell, and leaves the end of the
// run to them.
func schedule(cmd *cobra.Command, o *preset.HTTP, load *loadFlags, rate float64, stages []string) error {
	given := cmd.Flags().Changed
	switch {
	case given("rate") && given("stage"):
		return usageError("--stage 500/30s --stage 500/5m holds 500/s", "--rate and --stage exclude each other")
	case (given("rate") || given("stage")) && o.Requests > 0:
		return usageError("", "--requests is not of a schedule: --rate times --duration says how many")
	case given("rate") && !(rate > 0 && rate <= maxRate):
		return usageError("", "--rate is %v: want the requests a second, above 0 to %d", rate, maxRate)
	case given("rate"):
		if load.duration == 0 {
			return usageError("", "--rate wants a --duration above 0")
		}
		o.Stages = []scenario.Rate{{To: rate, Over: load.duration}}
	case given("stage"):
		if given("duration") {
			return usageError("", "--stage and --duration exclude each other: the stages say how long")
		}
		var err error
		if o.Stages, err = parseStages(stages); err != nil {
			return err
		}
	default:
		if o.Poisson || o.Drop {
			return usageError("", "--poisson and --drop are of a schedule: add --rate or --stage")
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

// maxRate is the greatest rate of a schedule, a second.
const maxRate = 10_000_000

// parseStages reads stages as RATE/TIME.
func parseStages(texts []string) (stages []scenario.Rate, err error) {
	for _, text := range texts {
		to, over, ok := strings.Cut(text, "/")
		s := scenario.Rate{}
		if s.To, err = strconv.ParseFloat(to, 64); !ok || err != nil || !(s.To >= 0 && s.To <= maxRate) {
			return nil, usageError("write it as --stage 500/30s", "--stage %q: want a rate of 0 to %d, a slash and a time", text, maxRate)
		}
		if s.Over, err = time.ParseDuration(over); err != nil || s.Over < 0 {
			return nil, usageError("write it as --stage 500/30s", "--stage %q: %q is no time", text, over)
		}
		stages = append(stages, s)
	}
	return stages, nil
}

func parseHeaders(lines []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usageError("write it as -H 'Name: value'", "--header %q has no name and colon", line)
		}
		headers[name] = strings.TrimSpace(value)
	}
	return headers, nil
}

// readBody gives the body that -b tells: itself, or the content of @FILE.
func readBody(s string) ([]byte, error) {
	name, ok := strings.CutPrefix(s, "@")
	if !ok {
		return []byte(s), nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, usageError("", "--body: %v", err)
	}
	return b, nil
}
