package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// makeCgroups creates control groups below this process's own: one of version 2, which can
// be killed as a whole, and one of version 1 for memory if version 2 cannot limit it. It
// returns the folders of those that it could create, or nil. A limit of memory bytes (0: no
// limit) is set where the group has one.
func makeCgroups(name string, memory int64) (dirs []string) {
	for _, parent := range ownCgroups() {
		dir := filepath.Join(parent.dir, name)
		if parent.unified {
			_ = os.WriteFile(filepath.Join(parent.dir, "cgroup.subtree_control"), []byte("+memory +pids"), 0) // fails if the group has processes
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		if f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0); err != nil {
			_ = os.Remove(dir) // this process has no permission to use it
			continue
		} else {
			f.Close()
		}
		if memory > 0 {
			file := "memory.limit_in_bytes"
			if parent.unified {
				file = "memory.max"
			}
			_ = os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(memory, 10)), 0) // fails if the group has no such limit
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// plannedCgroups returns the folders that makeCgroups may create, without creating them.
func plannedCgroups(name string) (dirs []string) {
	for _, parent := range ownCgroups() {
		dirs = append(dirs, filepath.Join(parent.dir, name))
	}
	return dirs
}

// hierarchy is a hierarchy of control groups that this process is in.
type hierarchy struct {
	dir     string // of this process's group
	unified bool   // version 2
}

// ownCgroups returns the hierarchies of this process that are mounted: of version 2, and of
// version 1 for memory. It returns nil if they are unknown.
func ownCgroups() (found []hierarchy) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(strings.TrimSpace(string(b))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		unified := parts[0] == "0" && parts[1] == ""
		if !unified && !has(parts[1], "memory") {
			continue
		}
		if dir := mounted(unified, parts[2]); dir != "" {
			found = append(found, hierarchy{dir, unified})
		}
	}
	return found
}

// mounted returns the folder of a group, as /proc/self/cgroup names it, in the hierarchy of
// version 2 or else of memory; "" if it is not mounted here.
func mounted(unified bool, group string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if !ok || len(where) < 5 || len(what) < 3 {
			continue
		}
		if unified && what[0] != "cgroup2" || !unified && (what[0] != "cgroup" || !has(what[2], "memory")) {
			continue
		}
		rel, err := filepath.Rel(where[3], group)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		dir := filepath.Join(where[4], rel)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			return dir
		}
	}
	return ""
}

// has reports whether word is in a list that is separated by commas.
func has(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// killCgroup kills the processes of a group and returns the ids of those that were alive.
// It does not wait for their end. It returns nil if the group does not exist.
func killCgroup(dir string) (pids []int) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil // the group is gone
	}
	for _, text := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(text); err == nil && pid > 0 && alive(pid) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return nil
	}
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) != nil { // version 1 has no such file
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	}
	return pids
}

// removeCgroups removes groups whose processes have ended. It waits up to a second for
// each, while zombies are in it, and ignores errors.
func removeCgroups(dirs []string) {
	for _, dir := range dirs {
		for end := time.Now().Add(time.Second); ; time.Sleep(5 * time.Millisecond) {
			err := unix.Rmdir(dir)
			if !errors.Is(err, unix.EBUSY) || time.Now().After(end) { // zombies are in the group
				break
			}
		}
	}
}

// OOMKills returns how many processes of the box the kernel has killed because it was out
// of memory, since the box was created. It returns 0 if the box has no control group that
// counts them.
func (b *Box) OOMKills() (n int) {
	for _, dir := range b.Cgroups {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				var kills int
				if _, err := fmt.Sscanf(line, "oom_kill %d", &kills); err == nil {
					n += kills
				}
			}
		}
	}
	return n
}
