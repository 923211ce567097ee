// Package processtest holds executors for tests: scenarios that behave, that misbehave,
// and executors that break the protocol. A test binary whose TestMain calls [Main] first
// is each of them by the environment of [Env].
package processtest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
)

const scenarioEnv = "PROCESS_TEST_SCENARIO"

// ListenEnv is the address that the scenario "calling" writes to.
const ListenEnv = "PROCESS_TEST_LISTEN"

// Env returns the environment variable that makes a test binary the executor of a
// scenario. The empty name makes it a test binary again.
func Env(name string) string { return scenarioEnv + "=" + name }

// Main runs the executor that the environment names and does not return; it returns at once if
// the environment names none. It panics for an unknown name.
func Main() {
	name := os.Getenv(scenarioEnv)
	switch {
	case name == "":
		return
	case name == "no hello":
		select {} // as an init function that never returns
	case fakes[name] != nil:
		fake(name)
	}
	executor.Main(scenarios[name]())
}

// scenarios are the scenarios of these executors, by name.
var scenarios = map[string]func() scenario.Vus{
	"short":    func() scenario.Vus { return ticks(scenario.Times(3)) },
	"long":     func() scenario.Vus { return ticks(scenario.Loop(time.Hour)) },
	"failures": func() scenario.Vus { return failures() },
	"exit 3":   func() scenario.Vus { return after(200*time.Millisecond, func() { os.Exit(3) }) },
	"goroutine panics": func() scenario.Vus {
		return after(100*time.Millisecond, func() { go func() { panic("own goroutine") }(); select {} })
	},
	"no classes": func() scenario.Vus { return nil },
	"setup fails": func() scenario.Vus {
		vus := ticks(scenario.Times(1))
		vus[0].Setup = func(context.Context) (context.Context, error) { return nil, errors.New("no database") }
		return vus
	},
	"setup hangs": func() scenario.Vus {
		vus := ticks(scenario.Times(1))
		vus[0].Setup = func(context.Context) (context.Context, error) { select {} }
		return vus
	},
	"heedless": func() scenario.Vus {
		return after(0, func() { fmt.Println("heedless"); select {} })
	},
	"grandchild": func() scenario.Vus {
		return after(0, func() {
			cmd := exec.Command("sleep", "600")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // holds the executor's output open
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			fmt.Println("grandchild", cmd.Process.Pid)
		})
	},
	"out of memory": func() scenario.Vus {
		return after(0, func() {
			var all [][]byte
			for {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = 1
				}
				all = append(all, b)
				runtime.KeepAlive(all)
			}
		})
	},
	"daemons": func() scenario.Vus {
		return after(0, func() {
			for _, script := range []string{"setsid sleep 600 & echo daemon $!", "(setsid sh -c 'sleep 600 & echo daemon $!' &)"} {
				cmd := exec.Command("sh", "-c", script)
				cmd.Stdout = os.Stdout
				if err := cmd.Run(); err != nil {
					panic(err)
				}
			}
			select {}
		})
	},
	"reparented": func() scenario.Vus { // its daemons have sessions of their own and no parent
		return after(0, func() {
			for range 2 {
				if err := exec.Command("sh", "-c", `(setsid sh -c 'touch daemon-$$; exec sleep 600' >/dev/null 2>&1 &)`).Run(); err != nil {
					panic(err)
				}
			}
			select {}
		})
	},
	"closes its output": func() scenario.Vus {
		return after(0, func() { os.Stdout.Close(); os.Stderr.Close() })
	},
	"talkative": func() scenario.Vus {
		return after(0, func() {
			line := []byte(strings.Repeat("x", 100) + "\n")
			long := []byte(strings.Repeat("y", 100<<10) + "\n")
			noise := make([]byte, 64<<10) // no newline in it
			for range 20 {
				for range 1000 {
					os.Stdout.Write(line)
				}
				os.Stdout.Write(long)
				os.Stderr.Write(noise)
			}
		})
	},
	"reads its files": func() scenario.Vus {
		return after(0, func() {
			b, err := os.ReadFile("data/names.csv")
			in, _ := io.ReadAll(os.Stdin)
			home, _ := os.Getwd()
			fmt.Printf("file %q %v, input %q, home %t, extra %q\n", b, err, in, os.Getenv("HOME") == home, os.Getenv("EXTRA"))
		})
	},
	"busy":    func() scenario.Vus { return after(0, func() { go spin(); spin() }) },
	"calling": func() scenario.Vus { return calls() },
	"slow setup": func() scenario.Vus {
		vus := ticks(scenario.Loop(time.Hour))
		vus[0].Setup = func(ctx context.Context) (context.Context, error) {
			time.Sleep(300 * time.Millisecond)
			return ctx, nil
		}
		return vus
	},
	"environment": func() scenario.Vus {
		return after(0, func() { fmt.Printf("socket=%q extra=%q", os.Getenv(executor.SocketEnv), os.Getenv("EXTRA")) })
	},
}

// ticks returns a scenario of five users that count "ticks" about 1,000 times a second each.
func ticks(load scenario.Load) scenario.Vus {
	if err := executor.Setup([]metrics.Group{{Name: "Ticks", Graphs: []metrics.Graph{{Title: "Ticks", Unit: "N", Metrics: []metrics.Metric{{Title: "ticks", Type: metrics.Counter}}}}}}); err != nil {
		panic(err)
	}
	m, err := executor.Find("ticks")
	if err != nil {
		panic(err)
	}
	return scenario.Vus{{Name: "ticks", Nu: 5, Load: load, Fu: func(ctx context.Context, _ int) {
		m.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}}}
}

// failures returns a scenario of one user that counts 2,000 failures, whose texts and samples
// have 2.2 MB together and are hard to compress.
func failures() scenario.Vus {
	return scenario.Vus{{Name: "failures", Nu: 1, Fu: func(ctx context.Context, _ int) {
		r, noise := executor.From(ctx), rand.NewChaCha8([32]byte{})
		text := func(n int) string {
			b := make([]byte, n)
			_, _ = noise.Read(b) // it never fails
			return base64.StdEncoding.EncodeToString(b)[:n]
		}
		for i := range 2000 {
			source, class := fmt.Sprint("client ", i%10), fmt.Sprint("class ", i%100)
			r.Error(source, class, text(500))
			r.Sample(source, class, func() executor.Exchange { return executor.Exchange{What: text(4000)} })
		}
	}}}
}

// spin uses a CPU and does not return.
func spin() {
	var n atomic.Int64
	for {
		n.Add(1)
	}
}

// calls returns a scenario of one user that writes a byte in each iteration to a connection to
// the address in ListenEnv.
func calls() scenario.Vus {
	dial := sync.OnceValue(func() net.Conn {
		c, err := net.Dial("tcp", os.Getenv(ListenEnv))
		if err != nil {
			panic(err)
		}
		return c
	})
	return scenario.Vus{{Name: "calls", Nu: 1, Load: scenario.Loop(time.Hour), Fu: func(ctx context.Context, _ int) {
		if _, err := dial().Write([]byte{1}); err != nil {
			panic(err)
		}
		time.Sleep(time.Millisecond)
	}}}
}

// after returns a scenario of one user whose iteration calls f after d.
func after(d time.Duration, f func()) scenario.Vus {
	return scenario.Vus{{Name: "f", Nu: 1, Fu: func(context.Context, int) { time.Sleep(d); f() }}}
}
