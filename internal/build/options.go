package build

import (
	"runtime"
	"time"
)

// Source is a user's scenario: a .go file, or a directory.
//
// A file alone is the whole package, as with go run FILE; of a directory all files except
// tests are used. The user's other packages come from the module of the nearest go.mod: the
// one beside the scenario or, if the scenario imports packages that neither Go nor gobench
// has, one in a parent directory, at most the repository's root.
type Source struct {
	Path string
	// As is the path shown in messages; if empty, Path is shown.
	As string
}

// Options are the options of a build. With the zero value it is for this machine and
// fetches nothing.
type Options struct {
	GOOS, GOARCH string // "" means this machine's
	// Person provides go settings, module cache and proxy of the user; if nil, the build
	// fetches nothing and uses gobench's own cache and home.
	Person *Person
	Limits Limits
	// Progress is called with each step before it begins, from the goroutine of Build or
	// one that Build waits for. It may be nil.
	Progress func(step string)
	// Package is called with each package whose compilation begins, from a goroutine that
	// Build waits for. It may be nil.
	Package func(path string)

	idle bool // with the lowest priority, one package at a time
}

// Limits are the limits of a build. A field that is not positive means its default.
type Limits struct {
	// Time is for the whole build, downloads included: 120 s.
	Time time.Duration
	// Memory is for the sum of the go command and all processes it starts: 2 GiB. Every 100
	// ms their resident memory is summed, and above the limit all are killed. On Linux the
	// kernel also refuses any single process more than this (RLIMIT_DATA), as it could grow
	// faster than the sum is taken. Systems without /proc have no memory limit.
	Memory int64
	// Output is the size of the largest file that a build may write, the executor included:
	// 256 MiB.
	Output int64
	// Text is how much of the compiler's text is returned: 64 KiB.
	Text int
}

// DefaultLimits returns the defaults.
func DefaultLimits() Limits {
	return Limits{Time: 120 * time.Second, Memory: 2 << 30, Output: 256 << 20, Text: 64 << 10}
}

// withDefaults returns o with the default for each field of Limits that is not positive,
// and for an empty GOOS, GOARCH and Progress.
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

// Executor is the result of a build.
type Executor struct {
	Path   string // of the program in the cache, which may delete it when it is the least recently used
	SHA256 string // of the program, in hex
	Size   int64
	Cached bool          // it was in the cache: no go command ran
	Took   time.Duration // duration of the call of Build
	// Notes are what gobench changed on its copy of the scenario, one line each: an import
	// made blank or added, a version chosen.
	Notes []string
}
