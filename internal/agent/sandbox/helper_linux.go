package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// helperName is the first argument of this program when it runs as the helper.
const helperName = "gobench-confine"

// Limits of a process in a box.
const (
	maxFile  = 16 << 30 // bytes of a file that the process writes
	maxTasks = 16384    // processes and threads of the box's user
)

// File descriptors of the helper.
const (
	executableFd = 3
	orderFd      = 4
)

// order is what the helper has to do.
type order struct {
	Kill    bool     // only kill all processes of UID
	UID     int      // 0 to keep the user
	Cgroups []string // to enter
	Parent  int      // process that must still exist
	Dir     string
	Args    []string
	Env     []string
}

// Command returns the command that runs the executable in the box, in Home, with exactly
// the environment env. It is not started; the caller must close its ExtraFiles in any case,
// and may close executable at once. The open file is executed, even if its name is changed
// before the start.
func (b *Box) Command(executable *os.File, env []string) (*exec.Cmd, error) {
	fd, err := unix.FcntlInt(executable.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the executable again: %w", err)
	}
	o := order{UID: b.UID, Cgroups: b.Cgroups, Parent: os.Getpid(), Dir: b.Home(), Args: []string{filepath.Base(executable.Name())}, Env: env}
	return helper(os.NewFile(uintptr(fd), executable.Name()), o)
}

// helper returns the helper's command, which is not started. Its ExtraFiles, which the
// caller must close, include executable; on an error helper closes it.
func helper(executable *os.File, o order) (*exec.Cmd, error) {
	file, err := os.CreateTemp("", "gobench-order-") // not an argument, since all users can read those
	if err != nil {
		executable.Close()
		return nil, err
	}
	if err = os.Remove(file.Name()); err == nil {
		err = json.NewEncoder(file).Encode(o)
	}
	if err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		executable.Close()
		file.Close()
		return nil, err
	}
	return &exec.Cmd{Path: "/proc/self/exe", Args: []string{helperName}, Env: []string{}, Dir: "/",
		ExtraFiles: []*os.File{executable, file}}, nil
}

func init() {
	if isHelper() {
		runtime.LockOSThread() // the first one: settings are of the thread, which becomes the executor
	}
}

// isHelper reports whether this process is a helper.
func isHelper() bool { return len(os.Args) == 1 && os.Args[0] == helperName }

// Main must be called first by main. In the helper it does not return: the process becomes
// the executor or exits, with 126 and a message on standard error if it failed. Otherwise
// it does nothing.
func Main() {
	if !isHelper() {
		return
	}
	err := help()
	fmt.Fprintln(os.Stderr, "gobench: put the executor into its box:", err)
	os.Exit(126)
}

// help does what the order says. Call it only in the helper, as Main does, with its thread
// locked. It returns only on failure, since the process becomes the executor or exits.
func help() error {
	var o order
	file := os.NewFile(orderFd, "order")
	if err := json.NewDecoder(file).Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	file.Close()
	if o.Kill {
		return killAll(o.UID)
	}
	unix.CloseOnExec(executableFd)
	for _, dir := range o.Cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // to be killed before the agent; optional
	if err := limit(o.UID != 0); err != nil {
		return err
	}
	if err := become(o.UID); err != nil {
		return err
	}
	unix.Umask(0o077)
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent's death signal: %w", err)
	}
	if os.Getppid() != o.Parent {
		return fmt.Errorf("the agent has ended")
	}
	return execute(o.Args, o.Env)
}

// become drops all privileges of this process for good and changes to the user uid, without
// other groups; 0 keeps the user and does nothing. Only the helper may call it.
func become(uid int) error {
	if uid == 0 {
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails if this kernel does not know it
	}
	if err := syscall.Setgroups([]int{}); err != nil {
		return fmt.Errorf("drop groups: %w", err)
	}
	if err := syscall.Setresgid(uid, uid, uid); err != nil {
		return fmt.Errorf("become group %d: %w", uid, err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil { // this drops the capabilities, too
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

// limit sets the limits of this process: as many open files as allowed, and no core file. If
// it has a user of its own, also maxTasks and maxFile. The helper calls it before become.
func limit(own bool) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	if most := mostFiles(); most > files.Max {
		raised := unix.Rlimit{Cur: most, Max: most}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil { // else this process has no permission
			files = raised
		}
	}
	files.Cur = files.Max
	limits := map[int]unix.Rlimit{unix.RLIMIT_NOFILE: files, unix.RLIMIT_CORE: {}}
	if own {
		limits[unix.RLIMIT_NPROC] = unix.Rlimit{Cur: maxTasks, Max: maxTasks}
		limits[unix.RLIMIT_FSIZE] = unix.Rlimit{Cur: maxFile, Max: maxFile}
	}
	for which, l := range limits {
		if err := unix.Setrlimit(which, &l); err != nil {
			return fmt.Errorf("set limit %d to %d: %w", which, l.Cur, err)
		}
	}
	return nil
}

// mostFiles returns the highest limit of open files that the system allows, or 0 if it is
// unknown.
func mostFiles() (n uint64) {
	b, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err == nil {
		_, _ = fmt.Sscan(string(b), &n) // 0 if unknown
	}
	return n
}

// OpenFiles returns how many files a process in a box that this process creates may have
// open, or 0 if that is unknown.
func OpenFiles() uint64 {
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		return 0
	}
	if os.Geteuid() == 0 && capable(unix.CAP_SYS_RESOURCE) {
		return max(files.Max, mostFiles())
	}
	return files.Max
}

// busyLimit is how long execute waits for an executable that is open for writing. A process
// that wrote it has closed it, but one that it was starting at that moment has it open until
// it executes its own program.
const busyLimit = 10 * time.Second

// execute replaces this process by the executable that is open as executableFd, with exactly
// the environment env. It waits, at most busyLimit, while a process has it open for writing.
// It returns only on failure. Only the helper may call it.
func execute(args, env []string) error {
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	envv, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return err
	}
	empty, err := syscall.BytePtrFromString("")
	if err != nil {
		return err
	}
	for end := time.Now().Add(busyLimit); ; time.Sleep(5 * time.Millisecond) {
		_, _, errno := syscall.RawSyscall6(unix.SYS_EXECVEAT, executableFd, uintptr(unsafe.Pointer(empty)),
			uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
		if errno != unix.ETXTBSY || time.Now().After(end) {
			return fmt.Errorf("execute it: %w", errno)
		}
	}
}

// killAll becomes a user, kills all its processes except this one with one system call, and
// exits with 0. It returns only on failure. It refuses user 0. Only the helper may call it.
func killAll(uid int) error {
	if uid == 0 {
		return fmt.Errorf("refused to kill all processes of user 0")
	}
	if err := become(uid); err != nil {
		return err
	}
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill all processes of user %d: %w", uid, err)
	}
	os.Exit(0)
	return nil
}
