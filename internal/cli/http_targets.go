package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/builtin"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/suggest"
)

// takeTargets sets options.Targets, at least one, and f.target: of the URL in args, or of --host, with
// its flags, of a file of targets, or of a curl command. Headers of -H are added if a
// target does not have them. It may read standard input. An error is a usage error.
func (f *httpFlags) takeTargets(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	listed := given("targets") || given("curl")
	if f.host != "" {
		args = append(args, "http://"+f.host+"/")
	}
	switch {
	case given("targets") && given("curl"):
		return usageError("", "--targets and --curl exclude each other")
	case listed && len(args) > 0:
		return usageError("", "--targets and --curl replace the URL: %q is one too many", args[0])
	case listed && (given("method") || given("body") || given("body-file")):
		return usageError("", "--method, --body and --body-file need a URL: --targets and --curl replace it")
	case !listed && len(args) == 0:
		return usageError("as in: gobench http http://localhost:8080/", "gobench http needs a URL, --targets FILE or --curl COMMAND")
	case !listed && len(args) > 1:
		for _, word := range args {
			if _, err := run.ParseStrict(word); err == nil {
				return usageError("write --strict="+word, "gobench http takes one URL: %q is one too many", word)
			}
		}
		return usageError("quote a URL with spaces or &", "gobench http takes one URL: %q is one too many", args[1])
	}
	headers, err := builtin.ParseHeaders(f.headers)
	if err != nil {
		return err
	}
	switch {
	case given("targets"):
		err = f.readTargets(cmd)
	case given("curl"):
		err = f.takeCurl(cmd)
	default:
		err = f.takeURL(cmd, args[0])
	}
	if err != nil {
		return err
	}
	for i := range f.options.Targets {
		for name, value := range headers {
			f.options.Targets[i].Default(name, value)
		}
	}
	if f.target == "" {
		t := f.options.Targets[0]
		f.target = t.Method + " " + t.URL
	}
	return nil
}

// takeURL sets options.Targets to the one target of url, --method, --body and --body-file.
// With a body the method is POST, unless --method is set. An error is a usage error.
func (f *httpFlags) takeURL(cmd *cobra.Command, url string) error {
	if err := checkURL(url); err != nil {
		return err
	}
	t := builtin.Target{Method: f.method, URL: url}
	var err error
	switch {
	case cmd.Flags().Changed("body") && cmd.Flags().Changed("body-file"):
		return usageError("", "--body and --body-file exclude each other")
	case f.bodyFile != "":
		t.Body, err = readAll(cmd, f.bodyFile)
		err = named("--body-file", err)
	case strings.HasPrefix(f.body, "@"):
		t.Body, err = readAll(cmd, f.body[1:])
		err = named("--body", err)
	default:
		t.Body = []byte(f.body)
	}
	if !cmd.Flags().Changed("method") && len(t.Body) > 0 {
		t.Method = "POST"
	}
	f.options.Targets = []builtin.Target{t}
	return err
}

// checkURL returns a usage error for a URL that can't be used, with a hint at the one that
// was probably meant. It returns nil for one that can.
func checkURL(url string) error {
	err := builtin.CheckURL(url)
	scheme, rest, ok := strings.Cut(url, ":")
	rest = strings.TrimLeft(rest, "/")
	switch {
	case err == nil:
		return nil
	case !strings.Contains(url, ":/"):
		return usageError("write it with its scheme: http://"+url, "the URL %q has no scheme", url)
	case ok && rest != "" && !strings.HasPrefix(url, scheme+"://"):
		return usageError("write it as "+scheme+"://"+rest, "%w", err)
	}
	if meant := suggest.Meant(strings.ToLower(scheme), []string{"http", "https"}); meant != "" && meant != scheme {
		return usageError("did you mean "+meant+"://"+rest+"?", "%w", err)
	}
	return usageError("as in: gobench http http://localhost:8080/", "%w", err)
}

// readTargets sets options.Targets, at least one, and f.target from the file of --targets,
// or from standard input for "-". An error is a usage error, with the line of a wrong
// target.
func (f *httpFlags) readTargets(cmd *cobra.Command) error {
	in, name := io.NopCloser(cmd.InOrStdin()), "standard input"
	if f.targets != "-" {
		file, err := os.Open(f.targets)
		if err != nil {
			return named("--targets", err)
		}
		in, name = file, f.targets
	}
	defer in.Close()
	var err error
	if f.options.Targets, err = builtin.ReadTargets(in, name); err != nil {
		return usageError("docs/targets.md describes the format", "--targets: %w", err)
	}
	f.target = fmt.Sprintf("%d targets of %s, in turn", len(f.options.Targets), name)
	return nil
}

// takeCurl sets options.Targets to the one target of the curl command, and those options
// of the client that no flag has set. A command that gobench can't parse is a usage error.
func (f *httpFlags) takeCurl(cmd *cobra.Command) error {
	t, c, err := builtin.Curl(f.curl)
	if err != nil {
		return usageError("quote the whole command for the shell, or use the URL and flags", "--curl: %w", err)
	}
	f.options.Targets = []builtin.Target{t}
	own := &f.options.Client
	if c.Timeout > 0 && !cmd.Flags().Changed("timeout") {
		own.Timeout = c.Timeout
	}
	if c.ConnectTimeout > 0 && !cmd.Flags().Changed("connect-timeout") {
		own.ConnectTimeout = c.ConnectTimeout
	}
	own.Fill(c)
	return nil
}

// named returns err as a usage error that names flag, as "--data"; nil for nil.
func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return usageError("", "%s: %w", flag, err)
}

// readAll returns the contents of a file, or of standard input for "-". An empty name is
// an error.
func readAll(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	if name == "" {
		return nil, errors.New("no file is named")
	}
	return os.ReadFile(name)
}
