package run

import "time"

// Order is a run as the master keeps it: what is asked for, where it stands and how it
// came there. Its figures are in its Result.
type Order struct {
	ID          string    `json:"id"`
	Number      int64     `json:"number"`      // in the order of acceptance, from 1
	Application string    `json:"application"` // id
	Name        string    `json:"name"`        // the application's
	Owner       string    `json:"owner"`       // name of the user who asked for it
	State       State     `json:"state"`
	Version     int64     `json:"version"` // of the state: counts its changes
	Cause       string    `json:"cause,omitempty"`
	Verdict     Verdict   `json:"verdict,omitempty"`
	Created     time.Time `json:"created"`
	Started     time.Time `json:"started,omitzero"` // when the load began
	Ended       time.Time `json:"ended,omitzero"`   // when it became final
	Options     Options   `json:"options"`
}

// Options are what is asked of a run beside its scenario. The zero value asks for
// nothing special. Times are in seconds.
type Options struct {
	Duration     float64           `json:"duration_seconds,omitempty"` // ends the run, or holds it open; 0: the scenario decides
	Warmup       float64           `json:"warmup_seconds,omitempty"`
	Interval     float64           `json:"interval_seconds,omitempty"`      // between batches; 0: 1
	GracefulStop float64           `json:"graceful_stop_seconds,omitempty"` // 0: 30
	Limit        float64           `json:"limit_seconds,omitempty"`         // the whole run may last so long; 0: the master's limit
	Seed         uint64            `json:"seed,omitempty"`                  // 0: drawn
	Parameters   map[string]string `json:"parameters,omitempty"`
	Thresholds   []string          `json:"thresholds,omitempty"`
	Agents       []string          `json:"agents,omitempty"`  // ids or names that run it; none: all that are there
	Weights      map[string]int    `json:"weights,omitempty"` // share of an agent by id or name, beside the others'; none: even
	Lost         LostPolicy        `json:"on_lost,omitempty"` // empty: LostContinue
	Guards       Guards            `json:"guards,omitzero"`
	Command      []string          `json:"command,omitempty"` // that asked for it, secrets left out
	Builtin      *Builtin          `json:"builtin,omitempty"` // what is told of a built-in load; nil: a scenario of the user's own
}

// Builtin is what reports tell of a built-in load, such as gobench http, in place of its
// scenario. Such a load ends by itself: Options.Duration does not hold its run open.
type Builtin struct {
	Target  string            `json:"target"`            // where its load goes
	Options map[string]string `json:"options,omitempty"` // of the load
}

// LostPolicy says what a run does when it loses an agent.
type LostPolicy string

// The policies.
const (
	LostContinue  LostPolicy = "continue"  // the others go on; the run is SUSPECT
	LostStop      LostPolicy = "stop"      // the run stops
	LostRebalance LostPolicy = "rebalance" // the others take over what the lost one did
)

// Guards end a run that does harm. 0: not guarded.
type Guards struct {
	ErrorRate float64  `json:"error_rate,omitempty"`     // failed share of all operations, 0 to 1, over Window
	P99       float64  `json:"p99_seconds,omitempty"`    // of any client's latency, over Window
	Rate      float64  `json:"max_rate,omitempty"`       // operations a second
	Window    float64  `json:"window_seconds,omitempty"` // 0: 2
	Targets   []string `json:"targets,omitempty"`        // that may be connected to, entries of internal/load/allowlist; none: all
}

// Application is a scenario that can be run, with what it is compiled from.
type Application struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Tags    []string  `json:"tags"`
	Owner   string    `json:"owner"`
	Version int64     `json:"version"` // counts its changes
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Source  Source    `json:"source,omitzero"`
}

// Source is what an executor is compiled from.
type Source struct {
	Scenario string `json:"scenario"`       // Go file
	File     string `json:"file,omitempty"` // its name, as messages have it; empty: DefaultFile
	GoMod    string `json:"go_mod,omitempty"`
	GoSum    string `json:"go_sum,omitempty"`
	Files    []File `json:"files,omitempty"` // further Go files, and data that the scenario reads
}

// DefaultFile is how a scenario is called that has no name.
const DefaultFile = "scenario.go"

// FileName is how the scenario's file is called.
func (s Source) FileName() string {
	if s.File == "" {
		return DefaultFile
	}
	return s.File
}

// File is one of a source: a clean relative path with slashes, and what is in it.
type File struct {
	Path    string `json:"path"`
	Data    []byte `json:"data"`
	Private bool   `json:"private,omitempty"` // it is for executors alone: the API does not give its data out
}

// Transition is a change of a run's state.
type Transition struct {
	Run     string    `json:"run"`
	Version int64     `json:"version"` // after it
	From    State     `json:"from"`    // empty: the run was made
	To      State     `json:"to"`
	Cause   string    `json:"cause,omitempty"`
	By      string    `json:"by"` // a user's name, or "master"
	At      time.Time `json:"at"`
}

// Agent is one that has joined.
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

// InputError says what is wrong with what was asked for.
type InputError struct {
	Field string // path as in JSON: "options.guards.p99_seconds"
	Text  string // what is wrong, and what would be right
}

func (e *InputError) Error() string { return e.Field + ": " + e.Text }

// Submission asks for a run: of an application by its id, or of a source with a name,
// which becomes an application.
type Submission struct {
	Application string
	Name        string
	Tags        []string
	Source      Source
	Options     Options
	Owner       string
}

// Figures are a master's own.
type Figures struct {
	Queued, Agents   int
	Active           string // run id
	Batches, Repeats uint64 // taken in, and those that had been already
	Bytes            uint64 // of batches
	Ingest, Ack      []byte // histograms (internal/measure/hdr) of ns: receipt to merged, receipt to committed
}
