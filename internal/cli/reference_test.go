package cli

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gobench-io/gobench/internal/run/version"
)

var update = flag.Bool("update", false, "write docs/commands.md and docs/gobench.1")

// Both references are written from the commands themselves, and have to be what is
// committed. "make docs" writes them.
func TestReference(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for name, text := range map[string]string{"commands.md": markdown(root), "gobench.1": manual(root)} {
		file := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil || string(have) != text {
			t.Errorf("docs/%s is not what the commands say (error %v): make docs writes it again", name, err)
		}
	}
}

// Every command and flag says what it is, and every command that does something has
// examples.
func TestHelpIsWhole(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands((&app{}).root()) {
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s: short %q, example %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
		if strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q ends in a point", cmd.CommandPath(), cmd.Short)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage %q", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  ") || !strings.Contains(line, "gobench") {
				t.Errorf("%s: example %q", cmd.CommandPath(), line)
			}
		}
	}
}

// commands returns cmd and all commands below it that are not hidden, in order.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// notRun are the commands whose examples internal/testing/docs/commands_test.go can't run as
// they stand, and why.
var notRun = map[string]string{
	"gobench ctl":         "they need a run in progress; testdata/script/ctl.txtar has one",
	"gobench target":      "it serves until Ctrl-C",
	"gobench target http": "it serves until Ctrl-C",
	"gobench serve":       "it serves until Ctrl-C",
	"gobench agent":       "it wants a master; testdata/script/agents.txtar has one",
	"gobench backup":      "it wants a master's data base; testdata/script/serve.txtar has one",
}

func init() {
	for _, name := range []string{"login", "agents", "agents join", "agents revoke", "tokens", "tokens new", "tokens revoke", "users", "users new", "users change"} {
		notRun["gobench "+name] = "it wants a master; testdata/script/login.txtar and agents.txtar have one"
	}
	for _, name := range []string{"submit", "rerun", "cancel", "stop", "logs", "profile"} {
		notRun["gobench "+name] = "it wants a master; testdata/script/remote.txtar has one"
	}
}

func markdown(root *cobra.Command) string {
	var b bytes.Buffer
	b.WriteString("# Commands\n\n<!-- make docs writes this page from the commands themselves -->\n\n")
	b.WriteString("What `gobench COMMAND --help` says. [exit-codes.md](exit-codes.md) has the exit codes, [errors.md](errors.md) the messages; `man docs/gobench.1` is this page for a terminal.\n\n| command | |\n| --- | --- |\n")
	for _, cmd := range commands(root)[1:] {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), cmd.Short)
	}
	b.WriteString("\nA time is written as `500ms`, `30s` or `2m`; a number alone is one of seconds. Long flags take their value after a space or `=`.\n")
	for _, cmd := range commands(root) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", cmd.CommandPath(), outsideCode(cmp.Or(cmd.Long, cmd.Short+".")))
		if cmd.Runnable() {
			fmt.Fprintf(&b, "\n    %s\n", cmd.UseLine())
		}
		if cmd.Example != "" {
			b.WriteString("\n")
			if why := notRun[cmd.CommandPath()]; why != "" {
				fmt.Fprintf(&b, "<!-- not run: %s -->\n", why)
			}
			fmt.Fprintf(&b, "```sh\n%s\n```\n", unindented(cmd.Example))
		}
		flags := cmd.NonInheritedFlags()
		if !flags.HasAvailableFlags() {
			continue
		}
		b.WriteString("\n| flag | default | |\n| --- | --- | --- |\n")
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || f.Name == "version" {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			name := strings.TrimSpace("--" + f.Name + " " + value)
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, ticked(shownDefault(f)), strings.ReplaceAll(outsideCode(usage), "|", `\|`))
		})
	}
	return b.String()
}

// shownDefault returns a flag's default; empty if that is not worth a word.
func shownDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "[]", "-1":
		return ""
	}
	return f.DefValue
}

func ticked(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// outsideCode makes text one that Markdown shows as it stands.
func outsideCode(s string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(s)
}

func unindented(s string) string {
	return strings.ReplaceAll(strings.TrimPrefix(s, "  "), "\n  ", "\n")
}

// manual is the manual page gobench(1), in man(7)'s macros. It bears no date, so that
// it changes only with what it says.
func manual(root *cobra.Command) string {
	var b bytes.Buffer
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	fmt.Fprintf(&b, ".\\\" make docs writes this page from the commands themselves.\n.TH GOBENCH 1 \"\" \"gobench %s\" \"User Commands\"\n", roff(version.Version))
	section("NAME")
	fmt.Fprintf(&b, "gobench \\- %s\n", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	section("SYNOPSIS")
	for i, cmd := range commands(root)[1:] {
		if i > 0 {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	}
	section("DESCRIPTION")
	roffText(&b, root.Long)
	section("COMMANDS")
	for _, cmd := range commands(root)[1:] {
		fmt.Fprintf(&b, ".SS %s\n", roff(cmd.UseLine()))
		roffText(&b, cmp.Or(cmd.Long, cmd.Short+"."))
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				roffFlag(&b, f)
			}
		})
		fmt.Fprintf(&b, ".PP\n.nf\n.RS 4\n%s\n.RE\n.fi\n", roff(unindented(cmd.Example)))
	}
	section("OPTIONS OF ALL COMMANDS")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { roffFlag(&b, f) })
	b.WriteString(".TP\n.B \\-h, \\-\\-help\nsay what a command does; of gobench run FILE also the scenario's parameters\n")
	section("EXIT STATUS")
	for _, row := range exitRows() {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", row[0], roff(row[1]))
	}
	section("ENVIRONMENT")
	for _, v := range variables {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", v[0], roff(v[1]))
	}
	section("FILES")
	for _, v := range [][2]string{{"~/.gobench/runs/ID/", "a run: result.json, batches, executor.log"}, {"~/.gobench/master/, ~/.gobench/agent/", "what a master keeps, and an agent"}, {"~/.gobench/login.json", "the login at a master"}, {"~/.cache/gobench/", "compiled scenarios; gobench clean --cache deletes them"}} {
		fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(v[0]), roff(v[1]))
	}
	section("SEE ALSO")
	b.WriteString("https://github.com/gobench\\-io/gobench has the documentation.\n")
	return b.String()
}

// variables of the environment that gobench reads.
var variables = [][2]string{
	{"XDG_DATA_HOME", "gobench's data is in its folder gobench; without it in ~/.gobench"},
	{"XDG_CACHE_HOME", "compiled scenarios are in its folder gobench; without it in ~/.cache/gobench"},
	{"GOBENCH_MASTER, GOBENCH_TOKEN", "URL of a master and an API token for it, in the place of gobench login"},
	{"GOBENCH_PASSWORD", "your password at a master, where gobench would ask for it"},
	{"GOBENCH_ADMIN_PASSWORD", "gobench serve: the password of the user admin"},
	{"SSL_CERT_FILE", "file of the authorities that are trusted, of a master's certificate too"},
	{"TMPDIR", "where the socket of a run is, while it is in progress"},
	{"GOMAXPROCS", "on how many threads at once the load's code runs; without it gobench takes as many as the load needs"},
	{"GOPROXY, GOPRIVATE and others of Go", "where modules come from that a scenario imports beside gobench's"},
	{"GOBENCH_NO_WARM", "when it is set, gobench does not compile its packages in the background after a first run"},
}

// exitRows are those of docs/exit-codes.md.
func exitRows() (rows [][2]string) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "exit-codes.md"))
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) == 4 && strings.Trim(cells[1], " 0123456789") == "" {
			text := strings.TrimSpace(cells[2])
			for { // links become their words
				before, rest, ok := strings.Cut(text, "[")
				words, after, also := strings.Cut(rest, "](")
				_, after, closed := strings.Cut(after, ")")
				if !ok || !also || !closed {
					break
				}
				text = before + "docs/" + words + after
			}
			rows = append(rows, [2]string{strings.TrimSpace(cells[1]), strings.ReplaceAll(text, "`", "")})
		}
	}
	return rows
}

func roffFlag(b *bytes.Buffer, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value != "" {
		value = ` \fI` + roff(value) + `\fR`
	}
	if d := shownDefault(f); d != "" && !strings.Contains(usage, "(default") {
		usage += " (default " + d + ")"
	}
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s\n", roff(name), value, roff(usage))
}

// roffText writes paragraphs.
func roffText(b *bytes.Buffer, s string) {
	for i, paragraph := range strings.Split(s, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(paragraph) + "\n")
	}
}

// roff makes text one that roff prints as it stands.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
