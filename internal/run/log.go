package run

// LogQuery selects the output of a run's executors.
type LogQuery struct {
	Run    string
	Agent  string           // id; "" means all
	Offset int64            // bytes to skip if only one executor has output and After is empty
	After  map[string]int64 // where to continue, by LogPiece.Executor: LogPiece.Next; others: from 0. Empty: see Offset
	Follow bool             // also what they print until the run is over
}

// LogPiece is a piece of an executor's output.
type LogPiece struct {
	Executor string `json:"executor" doc:"agent and number"`
	Next     int64  `json:"next" doc:"position after the piece in the executor's output"`
	Several  bool   `json:"several,omitempty" doc:"more than one executor has output"`
	Data     []byte `json:"data"`
}

// Head returns the line that precedes the piece in a text of all executors, "==> EXECUTOR
// <==" with its line end: empty if last, the executor of the piece before it, is the same,
// or if only one executor has output.
func (p *LogPiece) Head(last string) string {
	if !p.Several || p.Executor == last {
		return ""
	}
	return "==> " + p.Executor + " <==\n"
}
