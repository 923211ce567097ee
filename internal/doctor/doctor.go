// Package doctor reports how much load this machine can make, and what raises each of its
// limits.
//
// [Read] reads the machine into [Facts]; [Examine] is a pure function of them.
package doctor

import "time"

// Facts are what was read of a machine. A zero field is unknown and is not judged.
type Facts struct {
	OS     string `json:"os"`
	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch"`

	FilesSoft    uint64 `json:"files_soft,omitempty"`     // of the shell: gobench raises its own to the hard limit
	FilesHard    uint64 `json:"files_hard,omitempty"`     // how many files a process of gobench may have open
	FilesHighest uint64 `json:"files_highest,omitempty"`  // fs.nr_open: the highest hard limit that can be set
	PortsFirst   int    `json:"ports_first,omitempty"`    // of those for outgoing connections
	PortsLast    int    `json:"ports_last,omitempty"`     //
	ReusePorts   int    `json:"tcp_tw_reuse"`             // net.ipv4.tcp_tw_reuse: 0 never, 1 always, 2 loopback; -1 unknown
	Tracked      uint64 `json:"conntrack_now,omitempty"`  // connections that the firewall remembers
	TrackedMost  uint64 `json:"conntrack_most,omitempty"` // and the highest number that it can remember

	Listen  int `json:"somaxconn,omitempty"`          // net.core.somaxconn: connections that wait for a server's accept
	Backlog int `json:"netdev_max_backlog,omitempty"` // net.core.netdev_max_backlog: packets that wait for the kernel

	CPU       string  `json:"cpu,omitempty"`       // its name
	CPUs      int     `json:"cpus"`                // available to this process
	Online    int     `json:"online,omitempty"`    // of the machine
	Quota     float64 `json:"quota,omitempty"`     // CPUs that the cgroup allows
	Governors string  `json:"governors,omitempty"` // of the CPUs' clock rates, each once, by name

	Memory      uint64 `json:"memory,omitempty"`           // bytes of the machine
	Available   uint64 `json:"memory_available,omitempty"` // bytes that a process can still use
	MemoryLimit uint64 `json:"memory_limit,omitempty"`     // bytes that the cgroup allows

	Clock     string        `json:"clock,omitempty"`      // the kernel's source of time
	Clocks    string        `json:"clocks,omitempty"`     // those that the kernel could use
	ClockRead time.Duration `json:"clock_read,omitempty"` // the cost of reading the time
	TimerP50  time.Duration `json:"timer_p50,omitempty"`  // by how much waits of 1 ms were late
	TimerP99  time.Duration `json:"timer_p99,omitempty"`

	Go      string   `json:"go,omitempty"` // the version of the command that compiles scenarios
	GoPath  string   `json:"go_path,omitempty"`
	GoError string   `json:"go_error,omitempty"` // why there is no Go command
	Folders []Folder `json:"folders"`
}

// Folder is a folder that gobench writes to.
type Folder struct {
	Use    string  `json:"use"` // "data", "cache", "temporary"
	Path   string  `json:"path"`
	Error  string  `json:"error,omitempty"` // why it can't be written to
	Free   *uint64 `json:"free,omitempty"`  // bytes; nil: unknown
	NoExec bool    `json:"noexec,omitempty"`
	Lift   string  `json:"-"` // the command that sets another folder
}

// Level is how much a finding matters.
type Level string

// Levels of findings.
const (
	Fine  Level = "fine"
	Limit Level = "limit" // of large loads
	Stop  Level = "stop"  // of any run, or of any run of a scenario
)

// Finding is the result for one part of a machine.
type Finding struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Lifts []Lift `json:"lifts,omitempty"` // any of them is enough
}

// Lift is a command that raises a limit.
type Lift struct {
	Where   string `json:"where"` // "in this shell", "docker"
	Command string `json:"command"`
}
