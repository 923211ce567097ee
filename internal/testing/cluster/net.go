//go:build linux

// Package cluster is a cluster for tests: a master, agents and a target, each a process of
// its own in a network namespace with an address of its own, that can be killed,
// stopped and cut off.
//
// A test binary whose TestMain calls [Main] runs in namespaces of its own: it needs no
// privilege but to make them, and leaves nothing on the machine's network.
package cluster

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const insideEnv = "GOBENCH_TEST_CLUSTER"

// Main runs a package's tests in a new network and mount namespace, which has a bridge that
// connects the hosts, and returns the exit status for TestMain to exit with. It does so in
// a second process of the test binary: that one calls m.Run, this one only waits for it.
// Unless -test.parallel is set, 8 tests run at once. It needs root, or user namespaces, and
// the program ip; without, it prints why and returns 1.
func Main(m *testing.M) int {
	flag.Parse()
	parallel := "8" // tests wait more than they work, however few CPUs there are
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			parallel = f.Value.String()
		}
	})
	if err := flag.Set("test.parallel", parallel); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return 1
	}
	if os.Getenv(insideEnv) != "" {
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
			return 1
		}
		return m.Run()
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintf(os.Stderr, "cluster: no namespaces can be made here: %v: run the tests as root\n", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// furnish makes the bridge, 10.77.0.254/16, and a private mount for the namespaces' names.
// Call it once, in a process with mount and network namespaces of its own, as Main starts it:
// else it would change the machine's. Nothing undoes it: all of it goes with the namespaces. A
// failure leaves part of it done.
//
// The bridge has an address of its own: without one, it takes the lowest of its ports'
// addresses, so that each new host may change it; what a host then sends to the address that it
// still remembers is lost, an answer that is under way for a minute.
func furnish() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "/run/netns", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount /run/netns: %w", err)
	}
	return ip("-batch -", "link set lo up", "link add br0 address 02:00:00:00:00:01 type bridge", "addr add 10.77.0.254/16 dev br0", "link set br0 up")
}

// ip runs the program ip with arguments, separated by spaces, and with lines on its standard
// input, which it reads if args have "-batch -". The error has what it printed; lines before
// the one that failed have taken effect.
func ip(args string, batch ...string) error {
	cmd := exec.Command("ip", strings.Fields(args)...)
	cmd.Stdin = strings.NewReader(strings.Join(batch, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s %q: %w: %s", args, batch, err, out)
	}
	return nil
}

// Host is a network namespace with an address.
type Host struct {
	Name    string
	Address string
	here    bool
	Wrap    []string // command and arguments that programs are started by
}

var hosts atomic.Int32 // made so far

// NewHost makes a host, named name and a number, with an address of 10.77.0.0/16 that no
// other host has. It is deleted at the test's end. The tests must run by Main.
func NewHost(t testing.TB, name string) *Host {
	t.Helper()
	n := hosts.Add(1)
	h := &Host{Name: fmt.Sprintf("%s%d", name, n), Address: fmt.Sprintf("10.77.%d.%d", n/250, n%250+1)}
	err := ip("-batch -",
		"netns add "+h.Name,
		fmt.Sprintf("link add v%d type veth peer name eth0 netns %s", n, h.Name),
		fmt.Sprintf("link set v%d master br0 up", n))
	if err == nil {
		err = ip(fmt.Sprintf("-n %s -batch -", h.Name), fmt.Sprintf("addr add %s/16 dev eth0", h.Address), "link set eth0 up", "link set lo up")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ip("netns del " + h.Name) }) // it goes with this process at the latest
	return h
}

// here returns a host on the tests' own network, with an address of 127.0.0.0/16: it cannot
// be cut off.
func here(name string) *Host {
	n := hosts.Add(1)
	return &Host{Name: fmt.Sprintf("%s%d", name, n), Address: fmt.Sprintf("127.0.%d.%d", n/250, n%250+1), here: true}
}

// Cut takes the host off the network; Mend puts it back. They fail the test on a host of
// NewHere.
func (h *Host) Cut(t testing.TB)  { h.link(t, "down") }
func (h *Host) Mend(t testing.TB) { h.link(t, "up") }

// link sets the host's network interface "up" or "down". It fails the test if it cannot, as on
// a host made by here.
func (h *Host) link(t testing.TB, how string) {
	t.Helper()
	if err := ip(fmt.Sprintf("-n %s link set eth0 %s", h.Name, how)); err != nil {
		t.Fatal(err)
	}
}

// Listen listens on a port of the host, for a server in this process, until the test's end. It
// fails the test if it cannot, as on a host of NewHere.
func (h *Host) Listen(t testing.TB, port int) net.Listener {
	t.Helper()
	l, err := h.listen(port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// listen enters the namespace of a host made by NewHost, listens there, and leaves it again.
// If it cannot leave, it may return both a listener and an error. The caller closes the
// listener. The thread must not end with its namespace: Linux would then kill the processes
// that it has started with Pdeathsig.
func (h *Host) listen(port int) (net.Listener, error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer own.Close()
	ns, err := os.Open("/run/netns/" + h.Name)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", h.Address, port))
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return l, errors.Join(err, back) // the thread stays locked: it is of no use
	}
	runtime.UnlockOSThread()
	return l, err
}
