//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the programs that bench runs, according to
// BENCH_CHILD.
func TestMain(m *testing.M) {
	switch child := os.Getenv("BENCH_CHILD"); child {
	case "":
		os.Setenv("GORACE", "atexit_sleep_ms=0") // children end when they are done
		os.Exit(m.Run())
	case "burn":
		burn(200*time.Millisecond, 0)
		grandchild := exec.Command(os.Args[0])
		grandchild.Env = append(os.Environ(), "BENCH_CHILD=burn big")
		if err := grandchild.Run(); err != nil {
			fail(err)
		}
	case "burn big":
		burn(300*time.Millisecond, 64<<20)
	case "burn long":
		burn(time.Minute, 0)
	case "where":
		fmt.Println(value("/proc/self/status", "Cpus_allowed_list", ":"))
	case "complain":
		fmt.Fprintln(os.Stderr, "the disk is full")
		os.Exit(3)
	case "orphan":
		sleeper := exec.Command(os.Args[0])
		sleeper.Env = append(os.Environ(), "BENCH_CHILD=sleep")
		if err := sleeper.Start(); err != nil {
			fail(err)
		}
		fmt.Println(sleeper.Process.Pid)
		time.Sleep(3 * sampleEvery) // long enough to be sampled
	case "sleep":
		time.Sleep(time.Minute)
	case "get 100": // the URL is the last argument
		url := os.Args[len(os.Args)-1]
		for range 100 {
			get(url)
		}
		time.Sleep(3 * sampleEvery) // long enough to be sampled
		fmt.Println("100")
	case "gobench": // run FILE --duration 1s
		src, err := os.ReadFile(os.Args[2])
		if err != nil || os.Args[1] != "run" || !strings.Contains(string(src), "func export()") {
			fail(fmt.Errorf("%q: %v", os.Args, err))
		}
		get(os.Getenv("TARGET"))
	default:
		fail(fmt.Errorf("no child %q", child))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func get(url string) {
	resp, err := http.Get(url)
	if err != nil {
		fail(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 {
		fail(fmt.Errorf("%s: %s: %v", url, resp.Status, err))
	}
}

// burn uses CPU until this process has used d in all, with this many bytes allocated.
func burn(d time.Duration, bytes int) {
	held := make([]byte, bytes)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	for used() < d {
		for i := range 100_000 {
			sink += i
		}
	}
	if len(held) > 0 {
		time.Sleep(2 * sampleEvery) // long enough to be sampled at its size
		sink += int(held[0])
	}
}

var sink int

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fail(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
