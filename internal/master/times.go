package master

import "time"

// Times holds the master's timeouts and intervals. The zero value of a field means its
// default, as DefaultTimes returns it.
type Times struct {
	// Suspect is how long an agent may send no beat before it is suspect: no new run uses
	// it. Default 3 s.
	Suspect time.Duration
	// Lost is how long an agent may send no beat before its run continues without it.
	// Default 10 s.
	Lost time.Duration
	// Lease is how long agents generate load without a renewal from the master. Default 15 s.
	Lease time.Duration
	// Renew is the interval at which the master renews leases. Default 1 s.
	Renew time.Duration
	// Commit is the interval between transactions that store received batches. Default 200 ms.
	Commit time.Duration
	// Prepare is the limit for an agent to fetch an executor and start it. Default 1 min.
	Prepare time.Duration
	// Cancel is the limit from a cancel to the run's final state. Default 12 s.
	Cancel time.Duration
	// Flush is how long a run that is over waits for the last batches of an agent that is
	// not connected. Default 10 min.
	Flush time.Duration
	// Lead is the time from the command to begin to the start of the load, which is the same
	// moment on all agents. Default 500 ms.
	Lead time.Duration
}

// DefaultTimes returns the defaults.
func DefaultTimes() Times {
	return Times{
		Suspect: 3 * time.Second, Lost: 10 * time.Second, Lease: 15 * time.Second, Renew: time.Second,
		Commit: 200 * time.Millisecond, Prepare: time.Minute, Cancel: 12 * time.Second, Flush: 10 * time.Minute,
		Lead: 500 * time.Millisecond,
	}
}

// fields returns pointers to all fields of t, always in the same order.
func (t *Times) fields() []*time.Duration {
	return []*time.Duration{&t.Suspect, &t.Lost, &t.Lease, &t.Renew, &t.Commit, &t.Prepare, &t.Cancel, &t.Flush, &t.Lead}
}

// withDefaults returns t with the default in each field that is zero.
func (t Times) withDefaults() Times {
	usual := DefaultTimes()
	for i, d := range t.fields() {
		if *d == 0 {
			*d = *usual.fields()[i]
		}
	}
	return t
}

// Scale returns t with its defaults filled in, and with the intervals and limits of what
// agents send and receive multiplied by f. Prepare, Commit, Cancel and Lead stay: they are
// for work, which takes its time whatever f is. Tests of whole clusters use it with f < 1.
func (t Times) Scale(f float64) Times {
	t = t.withDefaults()
	for _, d := range []*time.Duration{&t.Suspect, &t.Lost, &t.Lease, &t.Renew, &t.Flush} {
		*d = time.Duration(float64(*d) * f)
	}
	return t
}
