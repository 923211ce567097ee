package executor

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A lease ends when it has not been renewed for its length, and not before.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var ended atomic.Int64 // ns since then
		var l lease
		defer l.close()
		l.begin(15*time.Second, func(string) { ended.Store(int64(time.Since(began))) })
		for range 20 {
			time.Sleep(10 * time.Second)
			l.renew(15 * time.Second)
		}
		if got := time.Duration(ended.Load()); got != 0 {
			t.Fatalf("ended after %v, though it was renewed", got)
		}
		time.Sleep(time.Minute)
		if got, want := time.Duration(ended.Load()), 200*time.Second+15*time.Second; got < want || got > want+time.Second {
			t.Errorf("ended after %v, want %v", got, want)
		}
	})
}

// A renewal that was in transit when the lease ended still counts: this process itself may have
// been stopped.
func TestLeaseLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		var l lease
		defer l.close()
		l.begin(time.Second, func(string) { over.Store(true) })
		time.Sleep(time.Second + leaseGrace/2)
		l.renew(time.Second)
		time.Sleep(time.Second - time.Millisecond)
		if over.Load() {
			t.Error("ended, though it was renewed in its grace")
		}
		time.Sleep(time.Second)
		if !over.Load() {
			t.Error("never ended")
		}
	})
}

func TestNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lease
		l.begin(0, func(string) { t.Error("ended") })
		l.renew(time.Second)
		time.Sleep(time.Hour)
		l.close()
	})
}
