package run

import "cmp"

// stoppedBy begins the cause of a run that someone stopped.
const stoppedBy = "stopped by "

// Ending is the reason why a run ended. The zero value means that the load ended by itself.
type Ending struct {
	Cancelled bool   // ended at once, without draining
	By        string // who cancelled or stopped it, as "Ctrl-C"; empty if no one did
	Err       error  // why it failed; ignored if Cancelled
	Threshold string // the crossed threshold that stopped it; empty if none did
}

// Conclude returns the final state of a run with this ending, and the cause as text.
// Cancelled takes precedence over Err, and both over a threshold and a stop. The cause, as
// "cancelled by Ctrl-C" or the error's text, is empty if the run finished by itself.
func (e Ending) Conclude() (state State, cause string) {
	switch {
	case e.Cancelled:
		return Cancelled, "cancelled by " + cmp.Or(e.By, "signal")
	case e.Err != nil:
		return Failed, e.Err.Error()
	case e.Threshold != "":
		return Finished, "threshold " + e.Threshold + " crossed"
	case e.By != "":
		return Finished, stoppedBy + e.By
	}
	return Finished, ""
}
