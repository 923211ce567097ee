package process

import "time"

// Times holds the timeouts of one executor process.
type Times struct {
	Start   time.Duration // from the process's start to its hello; it is killed after that
	Cancel  time.Duration // from Cancel to the process's end; it is killed after that
	Stop    time.Duration // from Stop to the process's end, beyond the graceful time of its start; it is killed after that
	Exit    time.Duration // from the last batch, or from the end of the stream, to the process's end; it is killed after that
	Control time.Duration // how long Control and Profile wait for a load that has not begun, and Control for its answer
	Output  time.Duration // how long output is read after the process's end, while a child of it holds it open
}

// DefaultTimes returns the timeouts of production.
func DefaultTimes() Times {
	return Times{
		Start:   15 * time.Second,
		Cancel:  5 * time.Second,
		Stop:    30 * time.Second,
		Exit:    2 * time.Second,
		Control: 5 * time.Second,
		Output:  time.Second,
	}
}

// Scale returns t with each duration multiplied by f.
func (t Times) Scale(f float64) Times {
	for _, d := range []*time.Duration{&t.Start, &t.Cancel, &t.Stop, &t.Exit, &t.Control, &t.Output} {
		*d = time.Duration(float64(*d) * f)
	}
	return t
}
