package scripts

import (
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands that check the lines of a file, such as those that asked writes.

// matches returns the groups of each line that matches a pattern.
func matches(ts *testscript.TestScript, file, pattern string) (groups [][]string) {
	re, err := regexp.Compile(pattern)
	ts.Check(err)
	for _, line := range strings.Split(ts.ReadFile(file), "\n") {
		if m := re.FindStringSubmatch(line); m != nil {
			groups = append(groups, m[1:])
		}
	}
	return groups
}

// counted checks how many lines match a pattern; + is one or more: counted FILE PATTERN N.
func counted(ts *testscript.TestScript, _ bool, args []string) {
	n := len(matches(ts, args[0], args[1]))
	if args[2] == "+" && n > 0 || strconv.Itoa(n) == args[2] {
		return
	}
	ts.Fatalf("%d lines of %s match %s, want %s:\n%s", n, args[0], args[1], args[2], ts.ReadFile(args[0]))
}

// unique checks that N lines match a pattern and that their first groups differ:
// unique FILE PATTERN N.
func unique(ts *testscript.TestScript, _ bool, args []string) {
	counted(ts, false, args)
	seen := map[string]bool{}
	for _, m := range matches(ts, args[0], args[1]) {
		if seen[m[0]] {
			ts.Fatalf("%s comes twice in %s", m[0], args[0])
		}
		seen[m[0]] = true
	}
}

// same checks that the groups of each line that matches a pattern are equal: same FILE PATTERN.
func same(ts *testscript.TestScript, _ bool, args []string) {
	all := matches(ts, args[0], args[1])
	if len(all) == 0 {
		ts.Fatalf("no line of %s matches %s:\n%s", args[0], args[1], ts.ReadFile(args[0]))
	}
	for _, m := range all {
		for _, g := range m {
			if g != m[0] {
				ts.Fatalf("%q differ in %s", m, args[0])
			}
		}
	}
}

// fill replaces $TARGET in files: fill FILE...
func fill(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$TARGET", ts.Getenv("TARGET"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// lines checks that a file has at most MOST lines: lines MOST FILE.
func lines(ts *testscript.TestScript, _ bool, args []string) {
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); n > most {
		ts.Fatalf("%s has %d lines, more than %d", args[1], n, most)
	}
}
