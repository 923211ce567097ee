// Bench measures gobench and its peers on this machine, prints the figures and, with
// -write, writes them to docs/benchmarks.md.
//
//	go run ./bench                              all tables, about 65 minutes
//	go run ./bench -tables stall                one table: http takes 14 minutes, users 13,
//	                                            post and tls 10, stall 6, schedule 5,
//	                                            cluster 8, the others up to 4
//	go run ./bench -tables http -seconds 2      one table, shorter
//	go run ./bench -tables http -tools wrk,hey  without gobench
//	go run ./bench -write                       what make bench does
//
// How a figure is measured:
//
//   - Peers come from registries only, at pinned versions, into the user's cache
//     directory; gobench is built there from this tree. Each has a file, peer_NAME.go.
//     The first run takes some minutes more. A peer that can't be installed is named
//     on the page with its error and left out of the table.
//   - The server is a process of our own on a free loopback port. Pinned runs
//     keep it on CPU 0 and the client on CPU 1; free runs let the kernel choose.
//   - Each tool warms up once. Then they take turns, A B C, A B C, so that a
//     slow minute of the machine touches all of them: see contest.go.
//   - CPU is user and system time of the tool's whole process tree, start-up
//     included, over the requests it says it made. Memory is the largest sum over
//     the tree, sampled; the executor's, which is the process that makes gobench's
//     load, is listed separately. See measure.go and tree.go.
//   - Cells are medians. A ratio is the median of the ratios within each turn,
//     with an interval that assumes no distribution: see stats.go.
//
// It needs Linux, Debian's packages, and for some peers cargo, Maven and npm. A user at a
// terminal is asked before a package is installed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A table is one set of measurements of bench, by its name for -tables. run measures it and
// returns its section, without name and date; functions xTable are such. run blocks until all
// is measured. If a run of a tool fails it returns an error, and the section is nil or
// incomplete: it must not be used, nor must one that is returned after the end of ctx, which
// run may return without an error.
type table struct {
	name string
	run  func(context.Context, *bench) (*section, error)
}

// tables lists all tables, in the order of the page.
var tables = []table{
	{"http", httpTable},
	{"close", closeTable},
	{"post", postTable},
	{"tls", tlsTable},
	{"h2", h2Table},
	{"conns", connsTable},
	{"users", usersTable},
	{"schedule", scheduleTable},
	{"stall", stallTable},
	{"start", startTable},
	{"live", liveTable},
	{"cluster", clusterTable},
	{"micro", microTable},
}

// bench is what the tables share. It is not safe for concurrent use: tables run one after
// the other, as they would disturb each other.
type bench struct {
	root    string   // directory of the module
	cache   string   // peers and builds, reused by later runs
	pairs   int      // turns of each tool
	seconds int      // of one run
	short   bool     // -seconds was set: it also applies to tables with a default of their own
	tools   []string // only these; empty: all
	log     io.Writer

	found   map[*peer]installed // so far
	refused map[*peer]error
}

// newBench returns a bench that logs to log. The caller must set pairs and seconds, and
// call prepare for root and cache.
func newBench(log io.Writer) *bench {
	return &bench{log: log, found: map[*peer]installed{}, refused: map[*peer]error{}}
}

// wants reports whether -tools selects the tool of this name, as it does all if it is not
// set.
func (b *bench) wants(tool string) bool {
	return len(b.tools) == 0 || slices.Contains(b.tools, tool)
}

func (b *bench) logf(format string, a ...any) { fmt.Fprintf(b.log, format+"\n", a...) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs bench with these arguments, without the program's name: it measures the tables in
// turn and prints each when it is complete, and with -write writes it to the page. A table
// that fails does not end the others, and the error names it; the end of ctx, whose cause it
// returns, and a page that can't be written do. With -sleeper, -bare or -swarm it does only
// that, the first two whatever ctx. It returns flag.ErrHelp for -h, and an error if another
// bench is running on this machine.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := newBench(stderr)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	names := fs.String("tables", "all", "tables to take, by comma: "+strings.Join(column(tables, func(t table) string { return t.name }), ", "))
	tools := fs.String("tools", "", "only these tools of a table, by comma, as in wrk,hey")
	fs.IntVar(&b.pairs, "pairs", 7, "turns of each tool")
	fs.IntVar(&b.seconds, "seconds", 5, "length of one run; the table users takes 120 when this is not given, schedule and stall always 10, conns at least 12")
	write := fs.Bool("write", false, "put the tables into docs/benchmarks.md")
	sleeper := fs.Float64("sleeper", 0, "only wake up so often a second and print what that takes, as the table schedule lets a process of its own do")
	var bare bareUsers
	fs.StringVar(&bare.target, "bare", "", "only ask the server at HOST:PORT by a bare loop, and print what a request takes, as the table conns lets a process of its own do")
	fs.IntVar(&bare.users, "users", 30, "users of -bare")
	fs.DurationVar(&bare.every, "every", 0, "pause of each user of -bare after an answer")
	isSwarm := fs.Bool("swarm", false, "only be the simulated agents whose join tokens come on standard input, as the table cluster lets a process of its own be")
	if err := fs.Parse(args); err != nil {
		return err
	}
	fs.Visit(func(f *flag.Flag) { b.short = b.short || f.Name == "seconds" })
	b.tools = list(*tools)
	wanted := list(*names)
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case b.pairs < 1 || b.seconds < 1:
		return errors.New("-pairs and -seconds are at least 1")
	case *write && b.pairs < 5:
		return errors.New("a written table has at least 5 pairs")
	}
	if *sleeper > 0 {
		return json.NewEncoder(stdout).Encode(sleep(*sleeper, time.Duration(b.seconds)*time.Second))
	}
	if bare.target != "" {
		bare.during = time.Duration(b.seconds) * time.Second
		took, err := bare.loop()
		if err != nil {
			return err
		}
		return json.NewEncoder(stdout).Encode(took)
	}
	if *isSwarm {
		return beSwarm(ctx, os.Stdin, stdout)
	}
	for _, name := range wanted {
		if name != "all" && !slices.ContainsFunc(tables, func(t table) bool { return t.name == name }) {
			return fmt.Errorf("no table %q", name)
		}
	}
	if err := b.prepare(); err != nil {
		return err
	}
	os.Setenv("GOBENCH_NO_WARM", "1") // gobench does no other work during a measurement
	unlock, err := lock(filepath.Join(b.cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()

	var errs []error
	for _, t := range tables {
		if !slices.Contains(wanted, t.name) && !slices.Contains(wanted, "all") {
			continue
		}
		b.logf("== %s", t.name)
		s, err := t.run(ctx, b)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			// The other tables do not depend on this one.
			b.logf("table %s: %v", t.name, err)
			errs = append(errs, fmt.Errorf("no table %s, see above", t.name))
			continue
		}
		s.name, s.date = t.name, time.Now().UTC()
		body := s.markdown(thisMachine())
		fmt.Fprintln(stdout, body)
		if *write {
			page := filepath.Join(b.root, "docs", "benchmarks.md")
			if err := writePage(page, s.name, body); err != nil {
				return err
			}
			b.logf("wrote %s", page)
		}
	}
	return errors.Join(errs...)
}

// list splits s at commas and spaces; nil if there are no words.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// prepare sets root to the first directory with a go.mod, from the working directory
// upwards, and cache to a directory that it creates in the user's cache. Without a go.mod
// it returns an error. It adds /usr/sbin and /sbin to PATH of this process.
func (b *bench) prepare() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for b.root = dir; ; b.root = filepath.Dir(b.root) {
		if _, err := os.Stat(filepath.Join(b.root, "go.mod")); err == nil {
			break
		}
		if b.root == filepath.Dir(b.root) {
			return fmt.Errorf("no go.mod in %s or above", dir)
		}
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b.cache = filepath.Join(user, "gobench-bench")
	// Debian's directory for servers is not in a user's PATH.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	return os.MkdirAll(b.cache, 0o755)
}
