package run

import (
	"slices"
	"strings"
)

// Role is what a metric counts. Guards, thresholds, screens and reports recognize a metric by
// its role, never by its title. The part of a role before its dot is the kind of its owner:
// Metric.Of is the name of an operation, a class of users, a step or a check.
//
// Of an operation, OpBegun = OpOK + OpFailed + OpUnanswered once all have ended.
type Role string

// The roles. If you add one, add it to roles.
const (
	Other Role = "" // not declared: a metric of the scenario's own

	OpBegun      Role = "op.begun"      // operations that began
	OpOK         Role = "op.ok"         // answered well
	OpFailed     Role = "op.failed"     // answered with a failure
	OpUnanswered Role = "op.unanswered" // ended without an answer
	OpResent     Role = "op.resent"     // sent again by the client itself
	OpFollowed   Role = "op.followed"   // further requests that an answer demanded, as redirects
	OpTime       Role = "op.time"       // time of answered operations
	OpAge        Role = "op.age"        // how long the unanswered ones had waited

	// Of each role of times, those of what gobench itself delayed, and what it took at least.
	OpTimeDisturbed        Role = "op.time_disturbed"
	OpTimeCorrected        Role = "op.time_corrected"
	StepTimeDisturbed      Role = "step.time_disturbed"
	StepTimeCorrected      Role = "step.time_corrected"
	ClassResponseDisturbed Role = "class.response_disturbed"
	ClassResponseCorrected Role = "class.response_corrected"
	ClassServiceDisturbed  Role = "class.service_disturbed"
	ClassServiceCorrected  Role = "class.service_corrected"
	ClassTaskDisturbed     Role = "class.task_disturbed"
	ClassTaskCorrected     Role = "class.task_corrected"

	ClassActive      Role = "class.active"       // users that have not finished
	ClassStarted     Role = "class.started"      // users
	ClassFinished    Role = "class.finished"     // users
	ClassPanics      Role = "class.panics"       // users that a panic ended
	ClassSlowed      Role = "class.slowed"       // waits of users whose calls failed before the network, many in a row
	ClassPlanned     Role = "class.planned"      // iterations that were due
	ClassBegun       Role = "class.begun"        // iterations that began
	ClassLate        Role = "class.late"         // begun iterations that had waited for a user
	ClassDropped     Role = "class.dropped"      // planned iterations that were given up, as no user was free
	ClassUnserved    Role = "class.unserved"     // planned iterations that still waited when the load ended
	ClassDone        Role = "class.done"         // iterations that ended by themselves, failed ones included
	ClassFailed      Role = "class.failed"       // part of ClassDone
	ClassCut         Role = "class.cut"          // begun iterations that the run's end cut short
	ClassUnprepared  Role = "class.unprepared"   // iterations that did not begin, as their preparation failed
	ClassLost        Role = "class.lost"         // begun iterations that had not ended when their executor did
	ClassVoid        Role = "class.void"         // begun iterations that found no data left, so that the load ended
	ClassResponse    Role = "class.response"     // from the planned start to the end, of successful iterations
	ClassService     Role = "class.service"      // from the begin to the end, of successful iterations
	ClassFailure     Role = "class.failure"      // from the begin to the end, of failed iterations
	ClassTask        Role = "class.task"         // as ClassService, of one task
	ClassAge         Role = "class.age"          // from the planned start to the end of the wait, of unserved and cut iterations
	ClassLag         Role = "class.start_lag"    // how late gobench itself was
	ClassWait        Role = "class.queue_wait"   // how long planned iterations waited for a user
	ClassBehind      Role = "class.behind"       // iterations that are due and not yet handled
	ClassUsersBehind Role = "class.users_behind" // users that are due and not yet started

	StepTime    Role = "step.time"    // time of successful steps
	StepFailed  Role = "step.failed"  // steps that failed
	CheckPassed Role = "check.passed" // calls of a check
	CheckFailed Role = "check.failed"

	Bytes       Role = "bytes"       // transferred by a client
	Connections Role = "connections" // that a client opened, or, of a gauge, has open
	Detail      Role = "detail"      // of a client's work, as the time of a name lookup
	Own         Role = "own"         // gobench's figures of itself; Part is the name
)

// PartLost is the part, by "error", of operations whose executor ended before they did. Executors
// declare it, and the merger of their counts counts it.
const PartLost = "lost"

// ErrorClasses are the parts, by "error", that clients of gobench's own count operations without an
// answer under.
var ErrorClasses = []string{"other", "refused", "reset", "timeout", "dns", "tls", "eof",
	"too_large", "protocol", "local_fd", "local_port", "proxy", "blocked", "canceled", PartLost}

// roles has the type of each role's metrics; an empty one allows all types.
var roles = map[Role]MetricType{
	OpBegun: Counter, OpOK: Counter, OpFailed: Counter, OpUnanswered: Counter, OpResent: Counter, OpFollowed: Counter, OpTime: Histogram, OpAge: Histogram,
	ClassActive: Gauge, ClassStarted: Counter, ClassFinished: Counter, ClassPanics: Counter, ClassSlowed: Counter, ClassPlanned: Counter, ClassBegun: Counter, ClassLate: Counter,
	ClassDropped: Counter, ClassUnserved: Counter, ClassAge: Histogram, ClassDone: Counter, ClassFailed: Counter, ClassCut: Counter, ClassLost: Counter, ClassVoid: Counter, ClassUnprepared: Counter, ClassResponse: Histogram, ClassService: Histogram,
	ClassFailure: Histogram, ClassTask: Histogram, ClassLag: Histogram, ClassWait: Histogram, ClassBehind: Gauge, ClassUsersBehind: Gauge,
	StepTime: Histogram, StepFailed: Counter, CheckPassed: Counter, CheckFailed: Counter,
	OpTimeDisturbed: Histogram, OpTimeCorrected: Histogram, StepTimeDisturbed: Histogram, StepTimeCorrected: Histogram,
	ClassResponseDisturbed: Histogram, ClassResponseCorrected: Histogram, ClassServiceDisturbed: Histogram, ClassServiceCorrected: Histogram,
	ClassTaskDisturbed: Histogram, ClassTaskCorrected: Histogram,
	Bytes: "", Connections: "", Detail: "", Own: Histogram,
}

// Fits reports whether r is a role, or Other, and a metric of type t can have it.
func (r Role) Fits(t MetricType) bool {
	want, known := roles[r]
	return r == Other || known && (want == "" || want == t)
}

// kind returns the part of r before its dot: what owns a metric of that role; "" without one.
func (r Role) kind() string {
	kind, _, found := strings.Cut(string(r), ".")
	if !found {
		return ""
	}
	return kind
}

// companions are, by a role of times, the roles of what was disturbed and corrected.
var companions = map[Role][2]Role{
	OpTime:        {OpTimeDisturbed, OpTimeCorrected},
	StepTime:      {StepTimeDisturbed, StepTimeCorrected},
	ClassResponse: {ClassResponseDisturbed, ClassResponseCorrected},
	ClassService:  {ClassServiceDisturbed, ClassServiceCorrected},
	ClassTask:     {ClassTaskDisturbed, ClassTaskCorrected},
}

// Companions returns the roles of the histograms beside one of role r: the times of what gobench
// itself delayed, as they are in it too, and what that took at least. ok is false if r has none.
func (r Role) Companions() (disturbed, corrected Role, ok bool) {
	all, ok := companions[r]
	return all[0], all[1], ok
}

// Companion reports whether r is a role that Companions returns.
func (r Role) Companion() bool {
	for _, all := range companions {
		if r == all[0] || r == all[1] {
			return true
		}
	}
	return false
}

// OfClass reports whether r is a role of a class of users.
func (r Role) OfClass() bool { return r.kind() == "class" }

// Missing returns the roles of the counters of what a histogram of role r lacks, because it did
// not end well and may have taken longest; nil if it lacks nothing.
func (r Role) Missing() []Role {
	switch r {
	case OpTime:
		return []Role{OpUnanswered}
	case StepTime:
		return []Role{StepFailed}
	case ClassResponse:
		return []Role{ClassFailed, ClassCut, ClassLost, ClassUnserved}
	case ClassService:
		return []Role{ClassFailed, ClassCut, ClassLost}
	}
	return nil
}

// Ages returns the roles of the histograms that have, together, how long what a histogram of
// role r lacks had taken when it was given up; nil if that is unknown.
func (r Role) Ages() []Role {
	switch r {
	case OpTime:
		return []Role{OpAge}
	case ClassResponse: // of a service time nothing is known: ages count from the planned start
		return []Role{ClassFailure, ClassAge}
	}
	return nil
}

// Counts is what a metric counts, of whom, and which part of it. By and Part are empty for the
// whole; else the metric counts again a part of what another one, or other parts, count: By is
// what the whole is divided by ("error", "status", "url"), Part is which part ("timeout").
// Sums must be taken over wholes only, or over parts of one By.
type Counts struct {
	Role Role   `json:"role,omitempty"`
	Of   string `json:"of,omitempty"`
	By   string `json:"by,omitempty"`
	Part string `json:"part,omitempty"`
}

// Whole reports whether c is not a part.
func (c Counts) Whole() bool { return c.By == "" }

// As returns what a metric of another role and the same owner and part counts.
func (c Counts) As(r Role) Counts {
	c.Role = r
	return c
}

// SameOwner reports whether c and other count the same part of the same operation, class, step
// or check.
func (c Counts) SameOwner(other Counts) bool {
	return c.Role.kind() == other.Role.kind() && c.Of == other.Of && c.By == other.By && c.Part == other.Part
}

// Find returns the first metric that counts c; nil without one, or if c has no role.
func Find(metrics []Metric, c Counts) *Metric {
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Counts == c })
	if i < 0 || c.Role == Other {
		return nil
	}
	return &metrics[i]
}

// Leading reports which metrics, by title, are the main distributions of times: those of
// operations, the first step's, and of each group without roles the first of its histograms of
// times.
func Leading(metrics []Metric) map[string]bool {
	leading, declared, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range metrics {
		if m.Role != Other {
			declared[m.Group] = true
		}
	}
	for _, m := range metrics {
		switch {
		case m.Role == OpTime && m.Whole():
			leading[m.Title] = true
		case m.Type == Histogram && m.Unit == "ns" && (m.Role == StepTime || !declared[m.Group]) && !seen[m.Group]:
			leading[m.Title], seen[m.Group] = true, true
		}
	}
	return leading
}
