package build

import (
	"runtime"
	"time"
)

// Source is a scenario as a tester has it: a .go file, or a directory.
//
// A file alone is the whole package, as with go run FILE; a directory gives all of
// its files but tests. Packages of the tester's own come from the module of the
// nearest go.mod: the one beside the scenario, or, when the scenario imports what
// neither Go nor gobench has, one further up, at most to the repository's root.
type Source struct {
	Path string
	// As is the path that messages show; "" shows Path.
	As string
}

// Options say for whom and for what a scenario is built. The zero value builds for
// this machine and fetches nothing.
type Options struct {
	GOOS, GOARCH string // "" is this machine's
	// Person lends its go settings, module cache and proxy to the build; nil builds
	// from what is here, in a cache and home of gobench's own.
	Person *Person
	Limits Limits
	// Progress is told each step before it begins, from the goroutine of Build or
	// one that Build waits for; nil is fine.
	Progress func(step string)
	// Package is told each package whose compilation begins, from a goroutine that
	// Build waits for; nil is fine.
	Package func(path string)

	idle bool // behind everything else, one package at a time
}

// Limits end a build that takes too much. A zero field has its default.
type Limits struct {
	// Time is the whole build's, downloads included: 120 s.
	Time time.Duration
	// Memory is that of the go command and all it starts, added up: 2 GiB. Every
	// 100 ms their resident memory is summed, and over the limit all are killed; on
	// Linux the kernel besides refuses any one process more than this (RLIMIT_DATA),
	// so that none can outrun the sum. Systems without /proc hold no memory limit.
	Memory int64
	// Output is the largest file that a build may write, the executor too: 256 MiB.
	Output int64
	// Text is how much of the compiler's text is kept: 64 KiB.
	Text int
}

// DefaultLimits are those that a zero field of Limits stands for.
func DefaultLimits() Limits {
	return Limits{Time: 120 * time.Second, Memory: 2 << 30, Output: 256 << 20, Text: 64 << 10}
}

func (o Options) withDefaults() Options {
	d := DefaultLimits()
	if o.Limits.Time <= 0 {
		o.Limits.Time = d.Time
	}
	if o.Limits.Memory <= 0 {
		o.Limits.Memory = d.Memory
	}
	if o.Limits.Output <= 0 {
		o.Limits.Output = d.Output
	}
	if o.Limits.Text <= 0 {
		o.Limits.Text = d.Text
	}
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	if o.GOARCH == "" {
		o.GOARCH = runtime.GOARCH
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Executor is a finished build.
type Executor struct {
	Path   string // the program, in the cache; it may go once it is the oldest there
	SHA256 string // of the program, in hex
	Size   int64
	Cached bool          // it was there already: no go command ran
	Took   time.Duration // of the call that gave it
	// Notes say what gobench changed on its copy of the scenario, a line each: an
	// import made blank or added, a version chosen.
	Notes []string
}
