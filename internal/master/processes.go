package master

import (
	"context"
	"math"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// maxProcesses is the maximum number of executor processes of an agent.
const maxProcesses = 64

// processes returns how many executors, 1 to maxProcesses, a number of users needs if each
// executor may have so many open files; 1 if files is 0: unknown. It reckons with a file for
// each user, 10 % more, and a hundred for the executor itself.
func processes(users float64, files uint64) int {
	if files == 0 {
		return 1
	}
	return int(min(max(math.Ceil((users*1.1+100)/float64(files)), 1), maxProcesses))
}

// multiply lets agents start several executors where the limit of open files requires it. The
// number of users is known only after the hello of the first executors, so agents whose
// executors get other numbers release them and start them again, under a new epoch; it returns
// once they run. first has the numbers of the executors that are running: call start for one
// process of each host before. After an error agents may have none, old or new ones.
func (a *active) multiply(ctx context.Context, first map[*place]int) error {
	users, weights := 0.0, 0
	for _, c := range a.hosts[0].hellos[0].Classes {
		users += float64(c.Nu)
	}
	for _, h := range a.hosts {
		weights += max(a.weight(h), 1)
	}
	wanted, numbers, next := map[*place]int{}, map[*place]int{}, 0
	var again []*place
	for _, h := range a.hosts {
		n := processes(users*float64(max(a.weight(h), 1))/float64(weights), h.beat.Hello.GetOpenFiles())
		wanted[h], numbers[h] = n, next
		if n > 1 || next != first[h] {
			again = append(again, h)
		}
		next += n
	}
	if len(again) == 0 {
		return nil
	}
	a.say(event.Note, "%.0f users need more open files than an executor may have: %d executors on %s", users, next, agents(len(a.hosts)))
	a.epoch++
	return a.each(again, func(h *place) error {
		if _, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: h.epoch, What: &agentpb.Command_Release{Release: &agentpb.Release{}}}); err != nil {
			return err
		}
		a.change(func() { h.epoch, h.started, h.hellos = a.epoch, a.epoch, nil })
		return a.start(ctx, h, wanted[h], numbers[h])
	})
}
