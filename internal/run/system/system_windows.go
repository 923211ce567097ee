package system

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// Alive reports whether a process with that id exists, also one of another user.
func Alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

// Interrupt sends this process the event of Ctrl-C.
func Interrupt() { _ = windows.GenerateConsoleCtrlEvent(windows.CTRL_C_EVENT, 0) }

// Terminate ends a process, without a request as on other systems. It returns an error if
// there is no such process, or if it belongs to another user.
func Terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// KillGroup kills a process: Windows has no groups. No such process is not an error.
func KillGroup(pid int) { _ = Terminate(pid) }

// Detached makes a child outlive this process and its terminal.
func Detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// DiskOf returns the file system that an existing directory is on.
func DiskOf(dir string) (Disk, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return Disk{}, err
	}
	var d Disk
	err = windows.GetDiskFreeSpaceEx(name, &d.Free, nil, nil)
	return d, err
}

// Kernel returns the version of Windows, as "10.0.19045".
func Kernel() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

// OpenFiles returns 0: Windows has no such limit.
func OpenFiles() (soft, hard uint64) { return 0, 0 }

// Columns returns an error: gobench prints plain lines on Windows.
func Columns(*os.File) (int, error) { return 0, errors.ErrUnsupported }
