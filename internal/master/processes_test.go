package master

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		users float64
		files uint64
		want  int
	}{{0, 1024, 1}, {840, 1024, 1}, {841, 1024, 2}, {100_000, 1 << 20, 1}, {100_000, 65536, 2}, {1e9, 1024, maxProcesses}, {1e9, 0, 1}, {0, 1, maxProcesses}} {
		if got := processes(tt.users, tt.files); got != tt.want {
			t.Errorf("%v users with %d files need %d processes, want %d", tt.users, tt.files, got, tt.want)
		}
	}
}

// If the limit of open files requires it, an agent runs several executors, numbered without
// gaps over all agents, and each user belongs to one executor.
func TestSeveralExecutorsOnAnAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "three", "two")
		for name, files := range map[string]uint64{"one": 1 << 20, "three": 60, "two": 1 << 20} { // 12 users: 4 each
			r.of(name).change(func(a *fakeAgent) { a.hello.OpenFiles = files })
			r.until("its beat has told", func() bool { w, _ := r.fleet.get("a" + name); return w.beat.GetHello().GetOpenFiles() == files })
		}
		id := r.running(run.Options{}, "one", "three", "two")
		places, users, rounds := map[uint32]string{}, int64(0), map[uint32]bool{}
		for _, name := range []string{"one", "three", "two"} {
			a := r.of(name)
			a.mu.Lock()
			for _, c := range a.received {
				for _, s := range c.GetArm().GetStarts() {
					places[s.Executor] = name
					users += s.Shares[0].Nu
					rounds[s.Executors] = true
				}
				if kind(c) == "begin" && (c.Epoch != 1) != (name != "one") {
					t.Errorf("%s begins in epoch %d", name, c.Epoch)
				}
			}
			a.mu.Unlock()
		}
		if len(places) != 4 || places[0] != "one" || places[1] != "three" || places[2] != "three" || places[3] != "two" || users != 12 || len(rounds) != 1 || !rounds[4] {
			t.Errorf("executors are on %v, for %d users, of %v", places, users, rounds)
		}
		for _, name := range []string{"one", "three", "two"} {
			r.of(name).batch(10, 0, time.Millisecond)
			r.of(name).finish()
		}
		x := r.result(id)
		if x.State != run.Finished || !x.Complete || count(x, "home.http_ok") != 40 || len(x.Hosts) != 3 || x.Hosts[1].Executors != 2 {
			t.Errorf("the run is %s (%s), missing %q, counts %d, on %+v", x.State, x.Cause, x.Missing, count(x, "home.http_ok"), x.Hosts)
		}
	})
}
