package local

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/system"
)

// environment describes this machine. A field that the system does not report is empty; Go is
// the version of this process.
func environment() run.Environment {
	e := run.Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: procField("/proc/cpuinfo", "model name"), Go: runtime.Version()}
	e.Host, _ = os.Hostname()
	e.Kernel = system.Kernel()
	if kb, err := strconv.ParseInt(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		e.Memory = kb << 10
	}
	e.OpenFiles, _ = system.OpenFiles()
	return e
}

// procField returns the value of the first "name : value" line of a file in /proc, or "" if
// there is no such line or file.
func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// paramsEnv returns the environment variable, NAME=VALUE, that passes an executor the values
// of its parameters.
func paramsEnv(values map[string]string) string {
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings always marshal
	}
	return scenario.ParamsEnv + "=" + string(b)
}
