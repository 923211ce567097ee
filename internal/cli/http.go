package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/preset"
	"github.com/gobench-io/gobench/internal/run"
)

func (a *app) httpCommand() *cobra.Command {
	var load loadFlags
	o := preset.HTTP{}
	var headers []string
	var body string
	cmd := &cobra.Command{
		Use:   "http URL",
		Short: "Put HTTP load on a URL: no scenario, no Go toolchain",
		Long: `Put HTTP load on a URL: so many connections, each sending one request after the
other for so long. Latency is taken to the last byte of the answer.`,
		Example: `  gobench http http://localhost:8080/
  gobench http -c 100 -d 30s https://localhost:8443/ -k
  gobench http -n 10000 -m POST -H 'Content-Type: application/json' -b '{"a":1}' http://localhost:8080/items
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
			return a.runHTTP(cmd, o, load)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.Connections, "connections", "c", 10, "connections, each a user")
	f.DurationVarP(&load.duration, "duration", "d", 10*time.Second, "end after this time; with -n, whichever comes first")
	f.IntVarP(&o.Requests, "requests", "n", 0, "end after so many requests over all connections")
	f.StringVarP(&o.Method, "method", "m", "GET", "request method (default POST when there is a body)")
	f.StringArrayVarP(&headers, "header", "H", nil, "a header, as 'Name: value'; may be repeated")
	f.StringVarP(&body, "body", "b", "", "request body, or @FILE")
	f.DurationVarP(&o.Timeout, "timeout", "t", 60*time.Second, "time limit of a request")
	f.BoolVarP(&o.Insecure, "insecure", "k", false, "accept any server certificate")
	load.add(cmd)
	return cmd
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
	l := &localRun{app: a, load: load,
		spec: agent.Spec{Path: self, Args: []string{executorCommand, "http"}, Env: []string{preset.OptionsEnv + "=" + string(options)}},
		result: &run.Result{Name: "http", Config: run.Config{Target: o.Method + " " + o.URL, Options: map[string]string{
			"connections": fmt.Sprint(o.Connections), "requests": fmt.Sprint(o.Requests), "timeout": o.Timeout.String(), "body_bytes": fmt.Sprint(len(o.Body)),
		}}}}
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
	o.Duration = load.duration
	return nil
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
