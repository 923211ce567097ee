package segment

// Numbers are those of an endless row that one executor may use: nobody else in the run
// does. It does not change; the zero value has all numbers.
type Numbers struct {
	Hand Hand
	Turn int64 // the first of the hand's numbers that may be used, counted in the hand
}

// Nth is number i of them, from 0 on.
func (n Numbers) Nth(i int64) int64 { return n.Hand.Nth(n.Turn + i) }

// Block is how many numbers in a row {{seq}} deals out at once. Any divisor of it
// samples each executor evenly, whatever share of the requests it sends.
const Block = 10_000

// Seq is number i of {{seq}} here: dealt in blocks where there are several executors.
func (n Numbers) Seq(i int64) int64 {
	if n.Hand.All() && n.Turn == 0 {
		return i
	}
	return n.Nth(i/Block)*Block + i%Block
}

// MaxSeq is below what all numbers of {{seq}} stay: greater ones are not exact in JSON.
const MaxSeq = 1 << 53
