package sandbox

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/run/filelock"
)

// Users of boxes: ids that systems do not assign to people or services.
const (
	// CompilerUser is the user that compiles. It is always the same, as it has a cache.
	CompilerUser = 63999

	firstUser = 64000
	lastUser  = 64999
)

// takeUser reserves a user that nothing else runs as, until release is called: the wanted one,
// or any if wanted is 0. It returns user 0, with a release that does nothing, if this process
// cannot change to other users or make files in /run/gobench. If all are in use, the error
// wraps ErrTaken and release is nil.
func takeUser(wanted int) (uid int, release func(), err error) {
	none := func() {}
	if os.Geteuid() != 0 || !capable(unix.CAP_SETUID) || !capable(unix.CAP_SETGID) || !capable(unix.CAP_CHOWN) || !capable(unix.CAP_KILL) || !mapped() {
		return 0, none, nil
	}
	dir := "/run/gobench"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, none, nil
	}
	first, last := firstUser, lastUser
	if wanted != 0 {
		first, last = wanted, wanted
	}
	for uid := first; uid <= last; uid++ {
		lock, err := os.OpenFile(filepath.Join(dir, "user-"+strconv.Itoa(uid)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return 0, none, nil
		}
		if ok, err := filelock.Try(lock); ok && err == nil {
			if _, err := user.LookupId(strconv.Itoa(uid)); err != nil && len(processesOf(uid)) == 0 {
				return uid, func() { lock.Close() }, nil
			}
		}
		lock.Close()
	}
	return 0, nil, fmt.Errorf("%w: processes run as each user from %d to %d", ErrTaken, first, last)
}

// reserveUser reserves a user that a previous process used, until release is called. ok is
// false, and release nil, if another box uses it now or it cannot be locked; true if there can
// be no lock file, as no box can use it then.
func reserveUser(uid int) (release func(), ok bool) {
	lock, err := os.OpenFile(filepath.Join("/run/gobench", "user-"+strconv.Itoa(uid)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}, true // then no box can use it
	}
	if ok, err := filelock.Try(lock); !ok || err != nil {
		lock.Close()
		return nil, false
	}
	return func() { lock.Close() }, true
}

// capable reports whether this process has a capability, such as unix.CAP_SETUID, in
// effect.
func capable(which int) bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return false
	}
	return data[which/32].Effective&(1<<(which%32)) != 0
}

// mapped reports whether this process's user namespace maps the users of boxes; false if
// that is unknown.
func mapped() bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		var inside, outside, count int64
		if _, err := fmt.Fscan(f, &inside, &outside, &count); err != nil {
			return false
		}
		if inside <= CompilerUser && lastUser < inside+count {
			return true
		}
	}
}
