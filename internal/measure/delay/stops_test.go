package delay

import (
	"slices"
	"testing"
	"time"
)

// set replaces what is known of stops, until the test ends. Tests that use it must not be parallel.
func set(t *testing.T, s state) {
	was := current.Load()
	current.Store(&s)
	t.Cleanup(func() { current.Store(was) })
}

func TestStood(t *testing.T) {
	set(t, state{due: 10 * ms})
	for _, tt := range []struct {
		do         func()
		now, stood time.Duration
	}{
		{nil, 10*ms + ms, 0},
		{nil, 30 * ms, 20 * ms}, // the watch is overdue
		{func() { Late(12*ms, 30*ms) }, 30 * ms, 18 * ms},
		{func() { Late(13*ms, 31*ms) }, 31 * ms, 19 * ms}, // the same stop
		{func() { Late(40*ms, 41*ms) }, 41 * ms, 19*ms + 10*ms},
		{func() { update(func(s *state) { s.late(s.due, 41*ms); s.due = 51 * ms }) }, 41 * ms, 29 * ms},
		{nil, 51 * ms, 29 * ms},
		{func() { Late(45*ms, 50*ms) }, 50 * ms, 34 * ms},
	} {
		if tt.do != nil {
			tt.do()
		}
		if got := Stood(tt.now); got != tt.stood {
			t.Errorf("at %v it had stood still for %v, want %v", tt.now, got, tt.stood)
		}
	}
}

func TestWaited(t *testing.T) {
	for _, tt := range []struct {
		s                state
		begin, end, want time.Duration
	}{
		{state{}, 0, time.Second, 0},                                                          // no watch
		{state{due: 100 * ms}, 10 * ms, 50 * ms, 0},                                           // not yet due
		{state{due: 100 * ms}, 10 * ms, 300 * ms, 200 * ms},                                   // overdue
		{state{due: 100 * ms}, 200 * ms, 300 * ms, 100 * ms},                                  // begun in the stop
		{state{due: 310 * ms, wasDue: 100 * ms, woke: 300 * ms}, 10 * ms, 305 * ms, 205 * ms}, // the watch woke up first
		{state{due: 310 * ms, wasDue: 100 * ms, woke: 300 * ms}, 10 * ms, 299 * ms, 199 * ms}, // after its clock was read
		{state{due: 310 * ms, wasDue: 290 * ms, woke: 300 * ms}, 10 * ms, 311 * ms, 0},
		{state{due: 510 * ms, wasDue: 100 * ms, woke: 300 * ms}, 301 * ms, 501 * ms, 0}, // begun after the stop
		{state{due: 510 * ms, wasDue: 100 * ms, woke: 300 * ms}, 10 * ms, 90 * ms, 0},   // ended before it
	} {
		set(t, tt.s)
		if got := Waited(tt.begin, tt.end); got != tt.want {
			t.Errorf("%+v: from %v to %v %v, want %v", tt.s, tt.begin, tt.end, got, tt.want)
		}
	}
}

// The watch notes a stop while it sleeps, and converts times of day.
func TestWatch(t *testing.T) {
	stop, done := make(chan struct{}), make(chan struct{})
	sleeps := make(chan time.Duration, 100)
	go func() {
		defer close(done)
		Watch(stop, func() int64 { return 0 }, func(over time.Duration) {
			select {
			case sleeps <- over:
			default:
			}
		})
	}()
	<-sleeps
	now := time.Now()
	got, ok := FromUnix(now.UnixNano())
	if off := (got - now.Sub(epoch)).Abs(); !ok || off > ms {
		t.Errorf("a time of day is off by %v (%v)", off, ok)
	}
	close(stop)
	<-done
	if _, ok := FromUnix(now.UnixNano()); ok {
		t.Error("times of day are known without a watch")
	}
}

func TestLeast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		own           Own
		took, typical time.Duration
		want          time.Duration
		ok            bool
	}{
		{Own{50 * time.Microsecond, 0}, ms, 0, ms, false}, // as late as always
		{Own{51 * time.Microsecond, 0}, ms, 0, 949 * time.Microsecond, true},
		{Own{time.Millisecond, 0}, 128 * ms, 0, 128 * ms, false}, // less than a range of the histogram
		{Own{2 * ms, 0}, 128 * ms, 0, 126 * ms, true},
		{Own{5 * ms, 0}, 3 * ms, 0, 0, true},
		{Own{0, 5 * ms}, 8 * ms, 0, 3 * ms, true},
		{Own{0, 5 * ms}, 8 * ms, 4 * ms, 4 * ms, true},
		{Own{0, 5 * ms}, 3 * ms, 4 * ms, 3 * ms, false},     // it is typical: nothing differs
		{Own{6 * ms, 5 * ms}, 8 * ms, 4 * ms, 2 * ms, true}, // never above the time without own
	} {
		if got, ok := tt.own.Least(tt.took, tt.typical); got != tt.want || ok != tt.ok {
			t.Errorf("%+v of %v, typical %v: %v %v, want %v %v", tt.own, tt.took, tt.typical, got, ok, tt.want, tt.ok)
		}
	}
}

// What is usual in flight follows a load that falls: a burst lasts until it has drained.
func TestBurstAfterTheLoadFell(t *testing.T) {
	t.Parallel()
	var b Burst
	now := time.Duration(0)
	for ; now < 60*time.Second; now += ms {
		b.Start(now, 0, 40)
	}
	for ; now < 75*time.Second; now += 100 * ms {
		b.Start(now, 0, 1)
	}
	for range 30 {
		b.Start(now, 3*time.Second, 30)
	}
	if got := b.Start(now+100*ms, 0, 30); got != 3*time.Second {
		t.Errorf("30 are in flight, where 1 is usual, and the burst is of %v", got)
	}
	if got := b.Start(now+200*ms, 0, 1); got != 0 {
		t.Errorf("1 is in flight, and the burst is of %v", got)
	}
}

// The hot path of a client asks for this at each operation.
func BenchmarkStood(b *testing.B) {
	now := Now()
	for b.Loop() {
		Stood(now)
	}
}

// Operations that begin all at once after a stop belong to a burst, until they have drained.
func TestAfterStop(t *testing.T) {
	for _, tt := range []struct {
		s                state
		begin, end, want time.Duration
	}{
		{state{due: 100 * ms}, 10 * ms, 50 * ms, 0},
		{state{due: 100 * ms}, 250 * ms, 300 * ms, 200 * ms},                                   // the watch has not woken up yet
		{state{due: 310 * ms, burst: 200 * ms}, 305 * ms, 309 * ms, 200 * ms},                  // it lasts
		{state{due: 510 * ms, burst: 200 * ms, ended: 400 * ms}, 390 * ms, 505 * ms, 200 * ms}, // it lasted
		{state{due: 510 * ms, burst: 200 * ms, ended: 400 * ms}, 401 * ms, 505 * ms, 0},
	} {
		set(t, tt.s)
		if got := AfterStop(tt.begin, tt.end); got != tt.want {
			t.Errorf("%+v: from %v to %v %v, want %v", tt.s, tt.begin, tt.end, got, tt.want)
		}
	}
	var s state
	var got []time.Duration
	for i, greatest := range []time.Duration{0, 5 * ms, 5 * ms, 0, 0, 3 * ms} {
		s.follow(greatest, time.Duration(i)*ms)
		got = append(got, s.burst, s.ended)
	}
	if want := []time.Duration{0, 0, 5 * ms, 0, 5 * ms, 0, 5 * ms, 3 * ms, 5 * ms, 3 * ms, 3 * ms, 0}; !slices.Equal(got, want) {
		t.Errorf("burst and end: %v, want %v", got, want)
	}
}
