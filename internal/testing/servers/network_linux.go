package servers

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// OwnNetwork runs a top-level test's body in a process of its own whose network has nothing
// but its loopback interface, so that it may change the kernel's settings. It waits for
// that process, and fails the test with its output if the body failed.
func OwnNetwork(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	const inside = "GOBENCH_TEST_OWN_NETWORK"
	if os.Getenv(inside) == t.Name() {
		loopbackUp(t)
		body(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// loopbackUp switches the loopback interface of a new network on, and waits until it can be
// used; after 5 s it fails the test. Call it inside the process that has the network.
func loopbackUp(t *testing.T) {
	t.Helper()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(s)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		t.Fatal(errno)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if c, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0); err == nil {
			err = syscall.Bind(c, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
			syscall.Close(c)
			if err == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the loopback interface does not come up")
		}
	}
}
