package segment

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// seed of all random configurations here; a failure also prints its own number.
const seed = 20260801

// segments returns those of all places.
func segments(t *testing.T, weights []int64, places int) (all []Segment) {
	t.Helper()
	for place := range places {
		h, err := New(weights, places, place)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

// owners returns which place has each of the first n numbers, and fails if a number has no
// place or two.
func owners(t *testing.T, all []Segment, n int64) []int {
	t.Helper()
	owner := make([]int, n)
	for i := range owner {
		owner[i] = -1
	}
	for place, h := range all {
		last := int64(-1)
		for i := int64(0); ; i++ {
			number := h.Nth(i)
			if number <= last {
				t.Fatalf("place %d: number %d follows %d", place, number, last)
			}
			if last = number; number >= n {
				if below := h.Below(n); below != i {
					t.Fatalf("place %d: %d numbers below %d, and Below says %d", place, i, n, below)
				}
				break
			}
			if owner[number] >= 0 {
				t.Fatalf("number %d is of places %d and %d", number, owner[number], place)
			}
			owner[number] = place
		}
	}
	for number, place := range owner {
		if place < 0 {
			t.Fatalf("number %d is of no place", number)
		}
	}
	return owner
}

func TestEqualWeightsTakeTurns(t *testing.T) {
	t.Parallel()
	for places := 1; places <= 50; places++ {
		for n, place := range owners(t, segments(t, nil, places), 333) {
			if place != n%places {
				t.Fatalf("%d places: number %d is of place %d", places, n, place)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		weights []int64
		want    string
	}{
		{[]int64{1, 1}, "ababababab"},
		{[]int64{7, 7, 7}, "abcabcabca"},
		{[]int64{2, 1}, "abaabaabaa"},
		{[]int64{1, 2}, "babbabbabb"},
		{[]int64{3, 2, 1}, "abacbaabac"},
		{[]int64{4, 1, 1}, "abaacaabaa"},
	} {
		var got strings.Builder
		for _, place := range owners(t, segments(t, tt.weights, len(tt.weights)), 10) {
			got.WriteByte(byte('a' + place))
		}
		if got.String() != tt.want {
			t.Errorf("weights %v: %s, want %s", tt.weights, &got, tt.want)
		}
	}
}

// I8: every number belongs to exactly one place, for any places and weights; at any time each
// share is almost exact.
func TestEveryNumberHasOnePlace(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	worst := 0.0
	for configuration := range 400 {
		places := 1 + r.IntN(50)
		var weights []int64
		sum, kinds := 0.0, map[int64]bool{}
		for range places {
			w := 1 + r.Int64N([]int64{1, 3, 64, 10_000}[configuration%4])
			weights = append(weights, w)
			sum += float64(w)
			kinds[w] = true
		}
		all := segments(t, weights, places)
		owner := owners(t, all, 1+r.Int64N(3000))
		had := make([]int, places)
		for n, place := range owner {
			had[place]++
			off := math.Abs(float64(had[place]) - float64(n+1)*float64(weights[place])/sum)
			worst = max(worst, off)
			if off > 1+float64(len(kinds)-1)/2 {
				t.Fatalf("configuration %d, weights %v: place %d has %d of the first %d", configuration, weights, place, had[place], n+1)
			}
		}
	}
	t.Logf("the greatest distance from an exact share is %.2f", worst)
}

// The parts of a segment make up that segment, also when one is divided again.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]int64{nil, {3, 1, 2}} {
		all := segments(t, weights, 3)
		parted := []Segment{all[0], all[2]}
		for part := range 4 {
			h, err := all[1].Part(part, 4)
			if err != nil {
				t.Fatal(err)
			}
			if part != 2 {
				parted = append(parted, h)
				continue
			}
			for part := range 3 {
				p, err := h.Part(part, 3)
				if err != nil {
					t.Fatal(err)
				}
				parted = append(parted, p)
			}
		}
		owners(t, parted, 2000)
	}
}

// A shared sequence is divided completely, and all users get the same number of it.
func TestRounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seed, 2))
	for configuration := range 300 {
		places := 1 + r.IntN(50)
		var weights []int64
		if configuration%2 == 1 {
			for range places {
				weights = append(weights, 1+r.Int64N(9))
			}
		}
		users, n := 1+r.Int64N(200), r.Int64N(2000)
		seen := make([]bool, n)
		var own, parts = int64(0), 0.0
		for _, h := range segments(t, weights, places) {
			round := h.Round(users)
			u, all := round.Users()
			if own += u; all != users {
				t.Fatalf("%d users, want %d", all, users)
			}
			parts += round.Share()
			below := round.Below(n)
			if most := (n/users + 1) * u; below > most {
				t.Fatalf("configuration %d: %d of %d for %d of %d users", configuration, below, n, u, users)
			}
			for i := range below {
				if number := round.Nth(i); number >= n || seen[number] {
					t.Fatalf("configuration %d: number %d twice, or not below %d", configuration, number, n)
				} else {
					seen[number] = true
				}
			}
			if u > 0 && round.Nth(below) < n {
				t.Fatalf("configuration %d: number %d is below %d", configuration, round.Nth(below), n)
			}
		}
		for number, ok := range seen {
			if !ok {
				t.Fatalf("configuration %d: nobody has number %d", configuration, number)
			}
		}
		if own != users || math.Abs(parts-1) > 1e-9 {
			t.Fatalf("configuration %d: %d users of %d, parts add up to %v", configuration, own, users, parts)
		}
	}
}

func TestTheZeroValueHasAll(t *testing.T) {
	t.Parallel()
	var h Segment
	one, err := New([]int64{5}, 1, 0)
	if err != nil || !h.All() || !one.All() || h.Nth(12) != 12 || h.Below(12) != 12 || h.Round(7).Nth(12) != 12 || one.Nth(3) != 3 {
		t.Error(h, one, err)
	}
	var none Round
	if none.Below(5) != 0 || none.Share() != 0 {
		t.Error(none)
	}
}

func TestBadPlaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		weights       []int64
		places, place int
	}{{nil, 0, 0}, {nil, 3, 3}, {nil, 3, -1}, {[]int64{1, 2}, 3, 0}, {[]int64{1, 0}, 2, 0}, {[]int64{1, -4}, 2, 0}, {[]int64{1, MaxRound}, 2, 0}, {[]int64{1, math.MaxInt64}, 2, 0}, {nil, maxPlaces + 1, 0}} {
		if _, err := New(tt.weights, tt.places, tt.place); err == nil {
			t.Errorf("%+v is taken", tt)
		}
	}
	for _, tt := range [][2]int{{0, 0}, {-1, 2}, {2, 2}, {0, MaxRound + 1}} {
		if _, err := (Segment{}).Part(tt[0], tt[1]); err == nil {
			t.Errorf("part %v is taken", tt)
		}
	}
	if h, err := New([]int64{MaxRound / 2, MaxRound/2 - 1}, 2, 1); err != nil || h.Nth(MaxRound/2) < 0 {
		t.Error("the greatest round: ", err)
	}
}

func BenchmarkNth(b *testing.B) {
	for name, weights := range map[string][]int64{"even": nil, "3 weights": {1, 2, 4}} {
		b.Run(name, func(b *testing.B) {
			h, err := New(weights, 3, 1)
			if err != nil {
				b.Fatal(err)
			}
			r := h.Round(1000)
			for i := int64(0); b.Loop(); i++ {
				r.Nth(i)
			}
		})
	}
}

// {{seq}}: unique over all executors, and each of them alone samples evenly.
func TestSeq(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for place, h := range segments(t, []int64{3, 1, 1}, 3) {
		for turn := range int64(2) { // first as a lost executor's part, then as the one that takes it over
			n := Numbers{h, turn << 22}
			sampled := map[int64]int{}
			for i := range int64(25_000) {
				seq := n.Seq(i)
				if seen[seq] || seq < 0 || seq >= MaxSeq {
					t.Fatalf("place %d: number %d, %d, is there already or too great", place, i, seq)
				}
				seen[seq] = true
				sampled[seq%100]++
			}
			for rest, n := range sampled {
				if n != 250 {
					t.Errorf("place %d: %d of 25,000 numbers leave %d", place, n, rest)
				}
			}
		}
	}
	if (Numbers{}).Seq(123_456) != 123_456 {
		t.Error("one executor alone does not count on")
	}
}
