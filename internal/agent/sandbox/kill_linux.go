package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killLimit is how long processes may take to be gone once they are killed.
const killLimit = 8 * time.Second

// Kill kills all processes of the box and returns when none is left: by its control
// group, by its user, and by its mark, whatever of them there is.
func (b *Box) Kill() error {
	end := time.Now().Add(killLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := b.strike()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %v did not end in %v after they were killed", left, killLimit)
		}
		time.Sleep(pause)
	}
}

// strike kills what is there and gives what was.
func (b *Box) strike() (left []int) {
	for _, dir := range b.Cgroups {
		left = append(left, killCgroup(dir)...)
	}
	if b.UID != 0 {
		if own := processesOf(b.UID); len(own) > 0 {
			left = append(left, own...)
			b.killUser()
		}
		return left
	}
	for _, pid := range b.marked() {
		left = append(left, pid)
		_ = unix.Kill(pid, unix.SIGKILL) // it is gone
	}
	return left
}

// killUser kills all processes of the box's user at one stroke, so that none gets away
// by having another one started.
func (b *Box) killUser() {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return
	}
	cmd, err := helper(null, order{Kill: true, UID: b.UID})
	if err != nil {
		return
	}
	_ = cmd.Run() // what it left is seen
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
}

// marked gives the processes that carry the box's mark in their environment.
func (b *Box) marked() (pids []int) {
	mark := []byte(MarkEnv + "=" + b.Mark)
	eachProcess(func(pid int) {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return // another user's, or gone
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(v, mark) && alive(pid) {
				pids = append(pids, pid)
				return
			}
		}
	})
	return pids
}

// processesOf gives the processes that have a user among their ids, zombies excepted.
func processesOf(uid int) (pids []int) {
	text := strconv.Itoa(uid)
	eachProcess(func(pid int) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return
		}
		own, dead := false, false
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "State:"); ok {
				dead = strings.HasPrefix(strings.TrimSpace(rest), "Z") || strings.HasPrefix(strings.TrimSpace(rest), "X")
			}
			if rest, ok := strings.CutPrefix(line, "Uid:"); ok {
				for _, id := range strings.Fields(rest) {
					own = own || id == text
				}
				break
			}
		}
		if own && !dead {
			pids = append(pids, pid)
		}
	})
	return pids
}

func eachProcess(f func(pid int)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // as many as there are
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			f(pid)
		}
	}
}

// alive tells whether a process is there and no zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// sweep deletes what the box's user, who is nobody else, has left where all may write.
func (b *Box) sweep() {
	if b.UID == 0 {
		return
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", os.TempDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			var st unix.Stat_t
			if unix.Lstat(path, &st) == nil && int(st.Uid) == b.UID {
				_ = os.RemoveAll(path) // it is only litter
			}
		}
	}
}
