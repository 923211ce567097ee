package http

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testenv"
)

// F29: no local port is left, in a network of the test's own that has 50. Each source
// address has that many anew, for each server.
func TestLocalPort(t *testing.T) {
	t.Parallel()
	if os.Getenv("GOBENCH_TEST_LOCAL_PORT") != "" {
		fiftyPorts(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocalPort$", "-test.v")
	cmd.Env = append(os.Environ(), "GOBENCH_TEST_LOCAL_PORT=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func fiftyPorts(t *testing.T) {
	loopbackUp(t)
	release := make(chan struct{})
	hold := func(p *testenv.Peer) {
		p.Request()
		<-release
		p.Send(ok)
		p.Request()
		p.Reset() // the port is free at once
	}
	one, two := testenv.Faults(t, hold), testenv.Faults(t, hold)
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	const ports, calls = 50, 80
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("60000 60049"), 0); err != nil {
		t.Fatal(err)
	}
	var end []func()
	load := func(name string, opts Options, want int64, urls ...string) {
		t.Helper()
		ctx, c, rec := newClient(t, opts)
		done := make(chan error)
		for _, url := range urls {
			for range calls {
				go func() { done <- c.GetIgnoreRes(ctx, url, nil) }()
			}
		}
		end = append(end, func() {
			for range want {
				if err := <-done; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			c.Close()
		})
		refused := int64(calls*len(urls)) - want
		for range refused {
			if err := <-done; err == nil || !strings.Contains(err.Error(), "cannot assign requested address") {
				t.Errorf("%s: %v", name, err)
			}
		}
		waitFor(t, func() bool { opened, _ := connections(rec); return opened == want })
		got := rec.Counts("home.")
		if got["error.local_port"] != refused || got["http_other_fail"] != refused || got["recovery"] != 0 || c.c.outage.Load() != nil {
			t.Errorf("%s: counts %v, want %d of local_port alone", name, got, refused)
		}
	}
	load("the system's own address, one server", Options{}, ports, one.URL)
	load("another server", Options{}, ports, two.URL)
	load("a source of its own, two servers", Options{Sources: []string{"127.0.0.2"}}, 2*ports, one.URL, two.URL)
	load("three sources", Options{Sources: []string{"127.0.0.8/30", "127.0.0.20"}}, calls, one.URL) // 27 each
	let()
	for _, f := range end {
		f()
	}
	ctx, rec := executortest.Context(t)
	c, err := NewHttpClient(ctx, "home")
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return c.GetIgnoreRes(ctx, one.URL, nil) == nil })
	fmt.Println(outcomes(rec))
}

// loopbackUp switches the loopback interface of a new network on.
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
