package executor

import (
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/measure/transcript"
)

// Exchange is what a client asked of a server and what came of it, for people who look
// inside: gobench run --once shows every one, a result keeps the first failed ones as
// samples. Secrets are taken out of its texts when it is shown (docs/inside.md), and
// what does not print is written out, so a client gives them as they went.
type Exchange = transcript.Exchange

// Part is one step of an exchange and how long it took.
type Part = transcript.Part

// Message is what one side of an exchange said.
type Message = transcript.Message

// Shown is how much of a head, or of a body, a client has to give, in bytes: no more is
// shown.
const Shown = transcript.Shown

// Watched reports whether somebody watches exchanges: a client then gives each to Show.
// It is seldom so; asking costs an atomic load.
func (r *Recorder) Watched() bool { return r.Registry.Watched() }

// Show shows an exchange to whoever watches.
func (r *Recorder) Show(x Exchange) { (*meter.Scope)(r).Show(x) }

// WantsSample reports whether [Recorder.Sample] would keep a failure of a source and
// class, for a client that has to keep something of the answer for it.
func (r *Recorder) WantsSample(source, class string) bool {
	return r.Registry.WantsSample(source, class)
}

// Sample keeps a failed exchange for the report if it is one of the first of its
// source and class, and makes it only then.
func (r *Recorder) Sample(source, class string, failed func() Exchange) {
	(*meter.Scope)(r).Sample(source, class, failed)
}

// Log tells people who want to know (--verbose) what a client does, as that it opened
// its first connection. It is not for what happens with each operation.
func (r *Recorder) Log(line func() string) { r.Registry.Log(line) }

// remark shows a line on what happened beside exchanges, made only when somebody
// watches.
func (r *Recorder) remark(line func() string) { (*meter.Scope)(r).Remark(line) }
