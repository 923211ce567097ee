package segment

// Round is one executor's part of an endless sequence that the users of a class share: the
// starts of an Arrival, or the iterations of a Shared load. Number n of the sequence belongs to
// user n mod the number of users, and so to the executor of that user. So all users have
// equally many numbers, and an executor without users has no numbers. It is immutable; the zero
// value is empty.
type Round struct {
	segment  Segment
	all, own int64 // users
}

// Round returns the part of s in a sequence that all users of a class share; all is their
// number over all executors.
func (s Segment) Round(all int64) Round { return Round{s, all, s.Below(all)} }

// Users returns the number of users of this executor, and of all executors.
func (r Round) Users() (own, all int64) { return r.own, r.all }

// Share returns the fraction of the sequence that belongs to this executor, 0 to 1; 0 if
// there are no users.
func (r Round) Share() float64 {
	if r.all == 0 {
		return 0
	}
	return float64(r.own) / float64(r.all)
}

// Nth returns number i, from 0 on, of this executor's part. It panics if this executor has
// no users and others have.
func (r Round) Nth(i int64) int64 {
	if r.own == r.all {
		return i
	}
	return i/r.own*r.all + r.segment.Nth(i%r.own)
}

// Below returns how many numbers of this executor's part are less than n; 0 if n is
// negative.
func (r Round) Below(n int64) int64 {
	switch {
	case r.own == 0 || n <= 0:
		return 0
	case r.own == r.all:
		return n
	}
	return n/r.all*r.own + r.segment.Below(n%r.all)
}
