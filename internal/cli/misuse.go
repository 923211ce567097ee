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

// misuse makes cobra's own error of a wrong command line one of ours: what is wrong,
// and what was probably meant.
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

// scanned reads cobra's words for what is no command.
func scanned(err error, word, path *string) bool {
	_, wrong := fmt.Sscanf(err.Error(), "unknown command %q for %q", word, path)
	return wrong == nil
}

// otherFlag says which flag was probably meant, or whose it is.
func otherFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
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
	return ""
}

// synonyms are words of other tools for our commands.
var synonyms = map[string]string{
	"list": "runs", "ls": "runs", "history": "runs", "rm": "clean", "delete": "clean", "prune": "clean", "new": "init", "create": "init",
	"check": "doctor", "env": "doctor", "server": "target", "attack": "http", "bench": "http", "exec": "run", "test": "run",
}

// otherCommand says which command was probably meant.
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

// plainCause is why a flag does not take a value, in words for people.
func plainCause(f *pflag.Flag, cause error) error {
	var number *strconv.NumError
	switch errors.As(cause, &number); {
	case number == nil:
		return cause
	case f.Value.Type() == "bool":
		return errors.New("want true or false")
	case errors.Is(cause, strconv.ErrRange):
		return errors.New("the number is too great")
	case strings.HasPrefix(f.Value.Type(), "float"):
		return errors.New("want a number")
	}
	return errors.New("want a whole number")
}

// flagHelp is a flag's line of help.
func flagHelp(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--"+f.Name+" "+value) + ": " + usage
}
