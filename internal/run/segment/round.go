package segment

// Round is what of an endless row belongs to the users of one executor: number n of the
// row belongs to user n mod all, and so to whoever has that user. Starts of an Arrival
// are such a row, and iterations that users share. So every user has as much as any
// other, and an executor without users has nothing. It does not change; the zero value
// has nothing.
type Round struct {
	hand     Hand
	all, own int64 // users
}

// Round deals an endless row out to so many users, of which this hand has its own.
func (h Hand) Round(all int64) Round { return Round{h, all, h.Below(all)} }

// Users are the users of this executor, and of all.
func (r Round) Users() (own, all int64) { return r.own, r.all }

// Share is how much of the row is this executor's: 0 to 1.
func (r Round) Share() float64 {
	if r.all == 0 {
		return 0
	}
	return float64(r.own) / float64(r.all)
}

// Nth is number i of those in the row that are this executor's, which must have users.
func (r Round) Nth(i int64) int64 {
	if r.own == r.all {
		return i
	}
	return i/r.own*r.all + r.hand.Nth(i%r.own)
}

// Below is how many numbers below n are this executor's.
func (r Round) Below(n int64) int64 {
	switch {
	case r.own == 0 || n <= 0:
		return 0
	case r.own == r.all:
		return n
	}
	return n/r.all*r.own + r.hand.Below(n%r.all)
}
