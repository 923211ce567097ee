package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// markEnv is the variable that marks all processes of a run on an agent, boxName the prefix
// of a run's folders and control groups.
const (
	markEnv = "GOBENCH_BOX="
	boxName = "gobench-"
)

// host checks I9: if no run is active, no process, folder, socket or control group of one is
// left. It waits for that until Options.Linger after the last run's end, or until ctx ends:
// what is left then is a violation.
func (c *checker) host(ctx context.Context, s *stored) {
	last := int64(0)
	for _, r := range s.runs {
		if r.active {
			return // they belong to this run
		}
		last = max(last, r.ended)
	}
	end := time.Unix(0, last).Add(c.o.Linger)
	for {
		left := c.left()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) || ctx.Err() != nil {
			for _, text := range left {
				c.fault("I9", "", "%s is left", text)
			}
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// left returns what is left of runs on this host: "folder PATH", "process PID", "control group
// PATH"; nil if nothing is. With Options.Work only what belongs to the agents of these folders,
// or to those of the ledgers.
func (c *checker) left() (all []string) {
	folders := c.o.Work
	if len(folders) == 0 {
		folders = []string{os.TempDir(), "/tmp"}
		slices.Sort(folders)
		folders = slices.Compact(folders)
	}
	for _, dir := range folders {
		homes, _ := filepath.Glob(filepath.Join(dir, boxName+"*", "home")) // the pattern is valid
		for _, home := range homes {
			all = append(all, "folder "+filepath.Dir(home))
		}
	}
	marks := map[string]bool{}                                     // of boxes that agents with ledgers had
	boxes, _ := filepath.Glob(filepath.Join(c.o.Ledgers, "*.box")) // AGENT.RUN.MARK.box
	for _, box := range boxes {
		if words := strings.Split(filepath.Base(box), "."); c.o.Ledgers != "" && len(words) == 4 {
			marks[words[2]] = true
		}
	}
	all = append(all, processes(func(mark, home string) bool {
		return len(c.o.Work) == 0 || marks[mark] || slices.ContainsFunc(c.o.Work, func(dir string) bool { return strings.HasPrefix(home, dir+"/") })
	})...)
	for _, dir := range cgroups() {
		if len(c.o.Work) == 0 || marks[strings.TrimPrefix(filepath.Base(dir), boxName)] {
			all = append(all, "control group "+dir)
		}
	}
	return all
}

// processes returns "process PID" for each process in a wanted box; if /proc cannot be
// read, one text with that error.
func processes(wanted func(mark, home string) bool) (all []string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []string{"what can't be seen, " + err.Error() + ","}
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if mark, home := boxOf(pid); mark != "" && wanted(mark, home) {
			all = append(all, fmt.Sprintf("process %d", pid))
		}
	}
	return all
}

// boxOf returns the mark and the home of a process's box. mark is empty if the process is in
// no box, has ended, is a zombie, or may not be looked at; home is of no use then.
func boxOf(pid int) (mark, home string) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "", ""
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if rest, ok := bytes.CutPrefix(v, []byte(markEnv)); ok {
			mark = string(rest)
		}
		if rest, ok := bytes.CutPrefix(v, []byte("HOME=")); ok {
			home = string(rest)
		}
	}
	return mark, home
}

// cgroups returns the paths of the control groups of boxes, of cgroup version 1 and 2.
func cgroups() (all []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return filepath.SkipDir
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), boxName) {
			all = append(all, path)
			return filepath.SkipDir
		}
		return nil
	})
	return all
}
