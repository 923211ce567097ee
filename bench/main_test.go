//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
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
		os.Exit(reportSamples(m))
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
		awaitSamples(sleeper.Process.Pid, 1)
	case "sleep":
		time.Sleep(time.Minute)
	case "get 100": // the URL is the last argument
		url := os.Args[len(os.Args)-1]
		for range 100 {
			get(url)
		}
		awaitSamples(os.Getpid(), 2)
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

// samplesEnv names the file to which the tests' process adds the ids of the processes that it
// has sampled, a line each.
const samplesEnv = "BENCH_SAMPLES"

// reportSamples runs the tests with such a file, and returns their exit status.
func reportSamples(m *testing.M) int {
	f, err := os.CreateTemp("", "samples")
	if err != nil {
		fail(err)
	}
	defer os.Remove(f.Name())
	os.Setenv(samplesEnv, f.Name())
	onSample = func(pids []int) { fmt.Fprintln(f, strings.Trim(fmt.Sprint(pids), "[]")) }
	return m.Run()
}

// awaitSamples waits until the tests' process has sampled a process n more times. The sample
// that is being taken may have looked at it before, so it waits for another one.
func awaitSamples(pid, n int) {
	samples := func() (n int) {
		b, err := os.ReadFile(os.Getenv(samplesEnv))
		if err != nil {
			fail(err)
		}
		for _, word := range strings.Fields(string(b)) {
			if word == strconv.Itoa(pid) {
				n++
			}
		}
		return n
	}
	enough := samples() + n + 1
	for end := time.Now().Add(time.Minute); samples() < enough; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			fail(fmt.Errorf("process %d was not sampled in a minute", pid))
		}
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
		awaitSamples(os.Getpid(), 1) // at its size
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
