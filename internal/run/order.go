package run

import "time"

// Order is a run as the master stores it: the request, its state and its history. Its figures
// are in its Result.
type Order struct {
	ID          string    `json:"id"`
	Number      int64     `json:"number"`      // in the order of acceptance, from 1
	Application string    `json:"application"` // id
	Name        string    `json:"name"`        // the application's
	Owner       string    `json:"owner"`       // name of the user who submitted it
	State       State     `json:"state"`
	Version     int64     `json:"version"` // of the state: incremented with each change
	Cause       string    `json:"cause,omitempty"`
	Verdict     Verdict   `json:"verdict,omitempty"`
	Created     time.Time `json:"created"`
	Started     time.Time `json:"started,omitzero"` // when the load began
	Ended       time.Time `json:"ended,omitzero"`   // when its state became final
	Options     Options   `json:"options"`
}

// Options are the options of a run besides its scenario. The zero value selects the defaults.
// Times are in seconds.
type Options struct {
	Duration     float64           `json:"duration_seconds,omitempty"` // ends the run, or holds it open; 0: the scenario defines it
	Warmup       float64           `json:"warmup_seconds,omitempty"`
	Interval     float64           `json:"interval_seconds,omitempty"`      // between batches; 0: 1
	GracefulStop float64           `json:"graceful_stop_seconds,omitempty"` // 0: 30
	Limit        float64           `json:"limit_seconds,omitempty"`         // limit for the whole run; 0: the master's limit
	Seed         uint64            `json:"seed,omitempty"`                  // 0: random
	Parameters   map[string]string `json:"parameters,omitempty"`
	Thresholds   []string          `json:"thresholds,omitempty"`
	Agents       []string          `json:"agents,omitempty"`  // ids or names of the agents that run it; empty: all that are connected
	Weights      map[string]int    `json:"weights,omitempty"` // share of an agent by id or name, relative to the others; empty: equal shares
	Split        Split             `json:"split,omitempty"`   // "": SplitEven
	Lost         LostPolicy        `json:"on_lost,omitempty"` // "": LostContinue
	Guards       Guards            `json:"guards,omitzero"`
	Command      []string          `json:"command,omitempty"` // that submitted it, without secrets
	Builtin      *Builtin          `json:"builtin,omitempty"` // description of a built-in load; nil: a scenario of the user
}

// Builtin describes a built-in load, such as gobench http, in reports, where the scenario would
// be. Such a load ends by itself: Options.Duration does not hold its run open.
type Builtin struct {
	Target  string            `json:"target"`            // where it sends its load
	Options map[string]string `json:"options,omitempty"` // of the load
}

// Split is what the shares of agents are proportional to, unless Options.Weights sets them.
type Split string

// The splits.
const (
	SplitEven   Split = "even"   // equal shares
	SplitCPUs   Split = "cpus"   // the number of CPUs
	SplitMemory Split = "memory" // the size of the memory
	SplitLink   Split = "link"   // the speed of the network device with which an agent reaches its master
)

// Splits are all of them.
var Splits = []Split{SplitEven, SplitCPUs, SplitMemory, SplitLink}

// LostPolicy defines what a run does when it loses an agent.
type LostPolicy string

// The policies.
const (
	LostContinue  LostPolicy = "continue"  // the others continue; the run is SUSPECT
	LostStop      LostPolicy = "stop"      // the run stops
	LostRebalance LostPolicy = "rebalance" // the others take over the work of the lost one
)

// Guards stop a run that causes harm. 0 means no guard.
type Guards struct {
	ErrorRate float64  `json:"error_rate,omitempty"`     // failed share of all operations, 0 to 1, over Window
	P99       float64  `json:"p99_seconds,omitempty"`    // of any client's latency, over Window
	Rate      float64  `json:"max_rate,omitempty"`       // operations a second
	Window    float64  `json:"window_seconds,omitempty"` // 0: 2
	Targets   []string `json:"targets,omitempty"`        // permitted destinations, entries of internal/load/allowlist; empty: all
}

// Application is a scenario that can be run, with its source.
type Application struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Tags    []string  `json:"tags"`
	Owner   string    `json:"owner"`
	Version int64     `json:"version"` // incremented with each change
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Source  Source    `json:"source,omitzero"`
}

// Source holds the files from which an executor is compiled.
type Source struct {
	Scenario string `json:"scenario"`       // Go file
	File     string `json:"file,omitempty"` // its name in messages; "": defaultFile
	GoMod    string `json:"go_mod,omitempty"`
	GoSum    string `json:"go_sum,omitempty"`
	Files    []File `json:"files,omitempty"` // further Go files, and data that the scenario reads
}

// defaultFile is the name of a scenario's file without one.
const defaultFile = "scenario.go"

// FileName returns the name of the scenario's file in messages: File, or defaultFile if that
// is empty.
func (s Source) FileName() string {
	if s.File == "" {
		return defaultFile
	}
	return s.File
}

// File is a file of a source: a clean relative path with slashes, and its contents.
type File struct {
	Path    string `json:"path"`
	Data    []byte `json:"data"`
	Private bool   `json:"private,omitempty"` // only for executors: the API does not return its contents
}

// Transition is a change of a run's state.
type Transition struct {
	Run     string    `json:"run"`
	Version int64     `json:"version"` // after the change
	From    State     `json:"from"`    // "": the run was created
	To      State     `json:"to"`
	Cause   string    `json:"cause,omitempty"`
	By      string    `json:"by"` // a user's name, or "master"
	At      time.Time `json:"at"`
}

// Agent is an agent that has joined.
type Agent struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Key     string    `json:"key"` // public nkey
	Joined  time.Time `json:"joined"`
	Seen    time.Time `json:"seen,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
	Hello   []byte    `json:"-"` // its last cluster.Hello
}

// JoinToken lets one agent join.
type JoinToken struct {
	ID      string    `json:"id"`
	Hash    []byte    `json:"-"` // SHA-256 of its secret
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	By      string    `json:"by"`
	Spent   time.Time `json:"spent,omitzero"`
	Agent   string    `json:"agent,omitempty"` // that joined with it
}

// InputError describes an invalid field of a request.
type InputError struct {
	Field string // path as in JSON: "options.guards.p99_seconds"
	Text  string // what is wrong, and what would be valid
}

func (e *InputError) Error() string { return e.Field + ": " + e.Text }

// Submission is a request to run an application, given by its id, or a source with a name,
// which becomes an application.
type Submission struct {
	Application string
	Name        string
	Tags        []string
	Source      Source
	Options     Options
	Owner       string
}

// Figures are metrics of the master itself, since its start.
type Figures struct {
	Queued, Agents   int
	Active           string // run id
	Batches, Repeats uint64 // deliveries of agents merged, and those received again
	Bytes            uint64 // of Batches
	Ingest, Ack      []byte // histograms (internal/measure/hdr) of ns: receipt to merged, receipt to committed
}
