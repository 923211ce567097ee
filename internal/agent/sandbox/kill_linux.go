package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killLimit is how long Kill waits for killed processes to end.
const killLimit = 8 * time.Second

// Kill kills all processes of the box and returns nil once they have ended, at once if the
// box has none. If some have not ended after killLimit, 8 s, it returns an error that names
// them. It finds them by the box's control group, and by its user or, if it has no user of
// its own, by its mark. It may be called again.
func (b *Box) Kill() error {
	end := time.Now().Add(killLimit)
	killed := map[int]bool{}
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := b.killOnce(killed)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %v did not end in %v after they were killed", left, killLimit)
		}
		time.Sleep(pause)
	}
}

// killOnce kills the processes of the box that exist and returns their ids, in which one
// may appear twice; it is empty if all have ended. It does not wait for their end. killed are
// those that earlier calls found by their mark, of which one that is ending has no
// environment any more; killOnce adds to it.
func (b *Box) killOnce(killed map[int]bool) (left []int) {
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
		killed[pid] = true
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
	}
	for pid := range killed {
		if alive(pid) {
			left = append(left, pid)
		}
	}
	return left
}

// killUser kills all processes of the box's user with one system call, so that none can start
// another one and escape. It ignores errors. b.UID must not be 0: then it kills none.
func (b *Box) killUser() {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return
	}
	cmd, err := helper(null, order{Kill: true, UID: b.UID})
	if err != nil {
		return
	}
	_ = cmd.Run() // killOnce finds those that it did not kill
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
}

// marked returns the ids of processes that have the box's mark in their environment,
// without zombies and those whose environment this process may not read.
func (b *Box) marked() (pids []int) {
	mark := []byte(MarkEnv + "=" + b.Mark)
	eachProcess(func(pid int) {
		for v := range bytes.SplitSeq(environOf(pid), []byte{0}) {
			if bytes.Equal(v, mark) && alive(pid) {
				pids = append(pids, pid)
				return
			}
		}
	})
	return pids
}

// environOf returns the environment of a process; nil if it has ended, or is another user's. One
// whose first thread has ended has it in its other threads.
func environOf(pid int) []byte {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // nothing, or an error, as the kernel likes
	if len(env) > 0 || !alive(pid) {
		return env
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, t := range threads {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/environ", pid, t.Name())); err == nil && len(env) > 0 {
			return env
		}
	}
	return nil
}

// processesOf returns the ids of processes with a user among their user ids (real, effective,
// saved, of the file system), without those that have ended or can't be read.
func processesOf(uid int) (pids []int) {
	text := strconv.Itoa(uid)
	eachProcess(func(pid int) {
		if users, alive := status(pid); alive && slices.Contains(users, text) {
			pids = append(pids, pid)
		}
	})
	return pids
}

// eachProcess calls f with the id of each process in /proc; never, if /proc cannot be read.
func eachProcess(f func(pid int)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			f(pid)
		}
	}
}

// alive reports whether a process exists and has not ended; false if that is unknown.
func alive(pid int) bool {
	_, alive := status(pid)
	return alive
}

// status returns a process's user ids (real, effective, saved, of the file system) and whether
// it has not ended; false if that is unknown. Its state is that of its first thread, which may
// be a zombie while others run: it may end before them, and does so for a moment when another
// one executes a program.
func status(pid int) (users []string, alive bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "State":
			alive = !strings.HasPrefix(value, "Z") && !strings.HasPrefix(value, "X")
		case "Uid":
			users = strings.Fields(value)
		case "Threads":
			threads, _ := strconv.Atoi(value) // the kernel writes numbers
			alive = alive || threads > 1
		}
	}
	return users, alive
}

// sweep deletes what the box's user, which no one else uses, owns directly in the folders that
// all users may write to. It does nothing if the box has no user of its own, and ignores
// errors. Call Kill before.
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
				_ = os.RemoveAll(path) // what remains does no harm
			}
		}
	}
}
