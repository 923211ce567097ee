package segment

// Numbers are the numbers of an endless sequence that one executor may use and no other
// executor of the run uses. It is immutable; the zero value has all numbers.
type Numbers struct {
	Segment Segment
	Turn    int64 // position in the segment of the first number that may be used
}

// Nth returns number i of them, from 0 on.
func (n Numbers) Nth(i int64) int64 { return n.Segment.Nth(n.Turn + i) }

// Block is the number of consecutive values of {{seq}} that an executor gets at a time.
// Sampling by any divisor of it is even on each executor, whatever its share of requests.
const Block = 10_000

// Seq returns value i, from 0 on, of {{seq}} on this executor: in blocks if the run has
// several executors. The caller must not use values from MaxSeq on.
func (n Numbers) Seq(i int64) int64 {
	if n.Segment.All() && n.Turn == 0 {
		return i
	}
	return n.Nth(i/Block)*Block + i%Block
}

// MaxSeq is greater than all values of {{seq}}: from it on integers are not exact in JSON.
const MaxSeq = 1 << 53
