package store

import (
	"cmp"
	"time"
)

// Times holds the store's timeouts. The zero value of a field means its default, as
// DefaultTimes returns it.
type Times struct {
	// Busy is how long a write waits for a lock that another program holds, before it fails
	// with an [Error] of kind [Locked]. Default 5 s.
	Busy time.Duration
	// Lock is how long a connection to PostgreSQL waits for the lock of the database's one
	// master: the server takes a moment to notice that the connection before it, of this
	// master or of the previous one, has ended. Default 3 s.
	Lock time.Duration
}

// DefaultTimes returns the defaults.
func DefaultTimes() Times { return Times{Busy: 5 * time.Second, Lock: 3 * time.Second} }

// withDefaults returns t with the default in each field that is zero.
func (t Times) withDefaults() Times {
	usual := DefaultTimes()
	return Times{Busy: cmp.Or(t.Busy, usual.Busy), Lock: cmp.Or(t.Lock, usual.Lock)}
}

// Scale returns t with its defaults filled in and every field multiplied by f.
func (t Times) Scale(f float64) Times {
	t = t.withDefaults()
	return Times{Busy: time.Duration(float64(t.Busy) * f), Lock: time.Duration(float64(t.Lock) * f)}
}
