package api

import (
	"cmp"
	"time"
)

// Times holds the server's timeouts. A field that is zero has the value that DefaultTimes
// returns.
type Times struct {
	Header    time.Duration // for the header of a request to arrive
	Body      time.Duration // for a JSON body to arrive; of an archive, for each piece of it
	BigBody   time.Duration // that a big body waits until others have been read
	Write     time.Duration // for a client to read one write of an answer
	Event     time.Duration // for a reader of events to read one; it then reconnects with Last-Event-ID
	Heartbeat time.Duration // between two comments on an event stream
	Idle      time.Duration // that an idle connection is left open
	Shutdown  time.Duration // for running requests to end when the server does
}

// DefaultTimes returns the timeouts of a master in production.
func DefaultTimes() Times {
	return Times{
		Header:    5 * time.Second,
		Body:      30 * time.Second,
		BigBody:   10 * time.Second,
		Write:     30 * time.Second,
		Event:     10 * time.Second,
		Heartbeat: 15 * time.Second,
		Idle:      60 * time.Second,
		Shutdown:  10 * time.Second,
	}
}

// Scale returns t with each time multiplied by f. A zero stays zero: the default is not
// scaled.
func (t Times) Scale(f float64) Times {
	for _, d := range t.fields() {
		*d = time.Duration(float64(*d) * f)
	}
	return t
}

// withDefaults returns t with the default for each field that is zero.
func (t Times) withDefaults() Times {
	defaults := DefaultTimes()
	usual := defaults.fields()
	for i, d := range t.fields() {
		*d = cmp.Or(*d, *usual[i])
	}
	return t
}

func (t *Times) fields() []*time.Duration {
	return []*time.Duration{&t.Header, &t.Body, &t.BigBody, &t.Write, &t.Event, &t.Heartbeat, &t.Idle, &t.Shutdown}
}
