package executor

import (
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/measure/transcript"
)

// Exchange is a request and its answer, for people to read: gobench run --once shows every
// one, and a result contains the first failed ones as samples. A client passes the bytes as
// sent and received; secrets are removed (docs/inside.md) and unprintable bytes are escaped
// when it is shown.
type Exchange = transcript.Exchange

// Part is one step of an exchange, with its duration.
type Part = transcript.Part

// Message is what one side of an exchange sent.
type Message = transcript.Message

// Shown is the largest part of a head, or of a body, that is shown, in bytes. A client need
// not pass more.
const Shown = transcript.Shown

// Watched reports whether exchanges are shown; a client then passes each one to Show. It
// costs an atomic load.
func (r *Recorder) Watched() bool { return r.Registry.Watched() }

// Show shows an exchange if exchanges are watched. x is rendered before Show returns, so its
// bytes may be changed afterwards.
func (r *Recorder) Show(x Exchange) { (*meter.Scope)(r).Show(x) }

// WantsSample reports whether [Recorder.Sample] would store a failure of a source and class,
// for a client that must copy a part of the answer for it. It is false after 3 of them, and
// for further pairs once 100 pairs of source and class have samples.
func (r *Recorder) WantsSample(source, class string) bool {
	return r.Registry.WantsSample(source, class)
}

// Sample stores a failed exchange for the report if it is one of the first 3 of its source and
// class, and these are among the first 100 pairs, as text of at most 4 KiB. It calls failed
// only in that case, before it returns.
func (r *Recorder) Sample(source, class string, failed func() Exchange) {
	(*meter.Scope)(r).Sample(source, class, failed)
}

// Log prints a line with --verbose, such as that a client opened its first connection; line is
// called only then. Secrets are removed from it. It is not for every operation: with more than
// 200 lines a second, lines are dropped.
func (r *Recorder) Log(line func() string) { r.Registry.Log(line) }

// remark shows a line between exchanges; line is called only if they are watched.
func (r *Recorder) remark(line func() string) { (*meter.Scope)(r).Remark(line) }
