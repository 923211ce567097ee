package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// A machine is the environment that figures depend on.
type machine struct {
	cpu    string
	cores  int
	memory string // as in 24 GiB
	os     string
	kernel string
	goes   string // version of Go
}

// thisMachine reads the environment of this machine. Fields that it can't read are
// "unknown ..." or, of the system, runtime.GOOS.
func thisMachine() machine {
	m := machine{
		cpu:    "unknown CPU",
		cores:  runtime.NumCPU(),
		memory: "unknown memory",
		os:     runtime.GOOS,
		kernel: kernel(),
		goes:   runtime.Version(),
	}
	if name := value("/proc/cpuinfo", "model name", ":"); name != "" {
		m.cpu = name
	}
	var kb float64
	if _, err := fmt.Sscanf(value("/proc/meminfo", "MemTotal", ":"), "%f kB", &kb); err == nil {
		m.memory = fmt.Sprintf("%.0f GiB", kb/(1<<20))
	}
	if name := value("/etc/os-release", "PRETTY_NAME", "="); name != "" {
		m.os = strings.Trim(name, `"`)
	}
	return m
}

// String returns the machine in one line.
func (m machine) String() string {
	return fmt.Sprintf("%s, %d CPUs, %s, %s, kernel %s, %s", m.cpu, m.cores, m.memory, m.os, m.kernel, m.goes)
}

// value returns the value of the first line "key sep value" of a file, without white space
// around it; empty if there is no such line or file.
func value(file, key, sep string) string {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, sep); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
