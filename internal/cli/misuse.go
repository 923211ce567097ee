package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gobench-io/gobench/internal/run/suggest"
)

// misuse returns cobra's error of a wrong command line as one with exit status 2: what is
// wrong, and a hint at what was probably meant or at the help of cmd. It is never nil; the
// text of an error that it does not know is unchanged.
func misuse(cmd *cobra.Command, err error) *exitError {
	lists := cmd.CommandPath() + " --help lists them"
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		empty   *pflag.ValueRequiredError
		word    string
		path    string
	)
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		dashed := "--" + name
		if unknown.GetSpecifiedShortnames() != "" {
			dashed = "-" + name
		}
		return &exitError{exitUsage, fmt.Errorf("%s has no flag %s", cmd.CommandPath(), dashed), cmp.Or(otherFlag(cmd, name), lists)}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return &exitError{exitUsage, fmt.Errorf("--%s %q: %w", f.Name, invalid.GetValue(), plainCause(f, invalid.Unwrap())), flagHelp(f)}
	case errors.As(err, &empty):
		return &exitError{exitUsage, fmt.Errorf("--%s has no value", empty.GetFlag().Name), flagHelp(empty.GetFlag())}
	case !scanned(err, &word, &path):
		return &exitError{exitUsage, err, "see " + cmd.CommandPath() + " --help"}
	case cmd.HasAvailableSubCommands():
		return &exitError{exitUsage, fmt.Errorf("%s has no command %q", cmd.CommandPath(), word), cmp.Or(otherCommand(cmd, word), lists)}
	}
	return &exitError{exitUsage, fmt.Errorf("%s takes no arguments: %q is one too many", cmd.CommandPath(), word), "see " + cmd.CommandPath() + " --help"}
}

// scanned reports whether err is cobra's for an unknown command, and sets word and path to
// that command and its parent's path. word may be set for another error.
func scanned(err error, word, path *string) bool {
	_, wrong := fmt.Sscanf(err.Error(), "unknown command %q for %q", word, path)
	return wrong == nil
}

// otherFlag returns a hint at another command that has the flag name, or else at the flag
// of cmd that was probably meant; empty if there is neither.
func otherFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden || !cmd.HasParent() { // the root hides those of gobench serve
			names = append(names, f.Name)
		}
	})
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(name) != nil {
			return fmt.Sprintf("--%s is a flag of %s", name, c.CommandPath())
		}
	}
	if meant := suggest.Meant(name, names); meant != "" {
		return fmt.Sprintf("did you mean --%s? %s --help lists all flags", meant, cmd.CommandPath())
	}
	if ours := otherTools[name]; ours != "" && cmd.Name() == "http" {
		return "gobench has for it: " + ours
	}
	return ""
}

// synonyms are other tools' names for our commands.
var synonyms = map[string]string{
	"list": "runs", "ls": "runs", "history": "runs", "rm": "clean", "delete": "clean", "prune": "clean", "new": "init", "create": "init",
	"check": "doctor", "env": "doctor", "server": "target", "attack": "http", "bench": "http", "exec": "run", "test": "run",
}

// otherCommand returns a hint at the subcommand of cmd that was probably meant by word;
// empty if no name is near. If cmd is the root, word may also be a URL, a Go file, a
// folder, or another tool's name for a command.
func otherCommand(cmd *cobra.Command, word string) string {
	if !cmd.HasParent() {
		switch info, err := os.Stat(word); {
		case strings.Contains(word, "://"):
			return "to put load on a URL: gobench http " + quoted(word)
		case strings.HasSuffix(word, ".go"), err == nil && info.IsDir():
			return "to run a scenario: gobench run " + quoted(word)
		}
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	meant := suggest.Meant(word, names)
	if meant == "" && !cmd.HasParent() {
		meant = synonyms[word]
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s %s? %[1]s --help lists all commands", cmd.CommandPath(), meant)
}

// otherTools are flags of wrk, hey, ab and k6, and what gobench http has for them.
var otherTools = map[string]string{
	"z": "-d", "T": "-H 'Content-Type: TYPE'", "rps": "--rate", "vus": "-c", "connections": "-c", "latency": "nothing: percentiles are in every report",
	"s": "gobench run FILE, with a scenario", "disable-compression": "-H 'Accept-Encoding: identity'", "cpus": "-t",
}

// plainCause returns why a flag refuses a value, in words for people: a *strconv.NumError
// is replaced, other errors are returned unchanged.
func plainCause(f *pflag.Flag, cause error) error {
	var number *strconv.NumError
	switch errors.As(cause, &number); {
	case number == nil:
		return cause
	case f.Value.Type() == "bool":
		return errors.New("want true or false")
	case errors.Is(cause, strconv.ErrRange):
		return errors.New("the number is too large")
	case strings.HasPrefix(f.Value.Type(), "float"):
		return errors.New("want a number")
	}
	return errors.New("want a whole number")
}

// flagHelp returns a flag's help in one line: "--name VALUE: usage".
func flagHelp(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--"+f.Name+" "+value) + ": " + usage
}
