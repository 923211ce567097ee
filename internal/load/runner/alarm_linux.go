package runner

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timerAlarm is a timerfd (timerfd_create(2)) that the runtime's poller watches: the
// kernel's high-resolution timer ends the poller's own wait, so no thread spins and
// no processor is held while it waits.
type timerAlarm struct {
	file *os.File
	raw  syscall.RawConn
	fire func(uintptr) bool // bound once, so that waiting does not allocate
	d    time.Duration      // to set, then 0
}

// newAlarm returns an alarm, which the caller must close: a timerAlarm, or a plainAlarm if the
// system has no file descriptor for it.
func newAlarm() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return plainAlarm{}
	}
	a := &timerAlarm{file: os.NewFile(uintptr(fd), "timerfd")}
	if a.raw, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return plainAlarm{}
	}
	a.fire = a.step
	return a
}

// wait returns after d. If the timer can't be used it sleeps instead.
func (a *timerAlarm) wait(d time.Duration) {
	a.d = d
	if a.raw.Read(a.fire) != nil {
		time.Sleep(d)
	}
}

// step sets the timer at its first call and returns false; the poller waits, and calls it
// again when the timer has fired. It then returns true, as it does if the timer can't be set.
// Setting the timer again discards the expiration that would have to be read.
func (a *timerAlarm) step(fd uintptr) bool {
	if a.d <= 0 {
		return true
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(a.d))}
	a.d = 0
	return unix.TimerfdSettime(int(fd), 0, &spec, nil) != nil
}

func (a *timerAlarm) close() { a.file.Close() }
