package types

import (
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Agent is an agent that has joined, with its machine and its state.
type Agent struct {
	run.Agent
	State     string    `json:"state" doc:"ready, busy, suspect, lost, refused or revoked"`
	Why       string    `json:"why,omitempty" doc:"reason for suspect, lost or refused"`
	Offset    float64   `json:"clock_offset_seconds" doc:"its wall clock minus the master's"`
	Error     float64   `json:"clock_error_seconds" doc:"error bound of clock_offset_seconds"`
	Machine   *Machine  `json:"machine,omitempty"`
	Load      *Load     `json:"load,omitempty"`
	Run       string    `json:"run,omitempty" doc:"id of its active run"`
	Phase     string    `json:"phase,omitempty" doc:"of the run on this agent"`
	Unsaved   uint64    `json:"unsaved" doc:"deliveries that the master has not committed"`
	Oldest    float64   `json:"oldest_unsaved_seconds" doc:"age of the oldest"`
	Executors []Process `json:"executors,omitempty" nullable:"false"`
}

// Machine is an agent's host.
type Machine struct {
	Version   string `json:"version" doc:"of gobench on it"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel,omitempty"`
	CPU       string `json:"cpu,omitempty"`
	CPUs      int    `json:"cpus"`
	Memory    int64  `json:"memory_bytes"`
	OpenFiles uint64 `json:"open_files" doc:"limit per process"`
	Isolation uint32 `json:"isolation" doc:"of executors: 0 the same user, 1 a user of their own, 2 also a cgroup"`
	Address   string `json:"address,omitempty"`
	Link      int64  `json:"link_mbits,omitempty" doc:"speed of the network device with that address, Mbit/s; missing if it is unknown"`
}

// Load holds the load of an agent's host: rates over the last second, others at its end.
type Load struct {
	Load1     float64 `json:"load1"`
	Load5     float64 `json:"load5"`
	Load15    float64 `json:"load15"`
	CPU       float64 `json:"cpu" doc:"share of all CPUs in use: 0 to 1"`
	Steal     float64 `json:"cpu_steal" doc:"share: 0 to 1"`
	Memory    int64   `json:"memory_total_bytes"`
	Available int64   `json:"memory_available_bytes"`
	NetIn     float64 `json:"net_in" doc:"bytes a second, all interfaces but loopback"`
	NetOut    float64 `json:"net_out"`
	DiskRead  float64 `json:"disk_read" doc:"bytes a second"`
	DiskWrite float64 `json:"disk_write"`
	DiskFree  int64   `json:"disk_free_bytes" doc:"of the file system with the agent's data"`
	Sockets   int64   `json:"sockets"`
	Files     int64   `json:"files" doc:"open on the host"`
}

// Process is the load of one executor process.
type Process struct {
	Executor uint32  `json:"executor"`
	PID      int64   `json:"pid"`
	CPU      float64 `json:"cpu" doc:"CPUs in use: 1.5 is one and a half"`
	Memory   int64   `json:"memory_bytes" doc:"resident"`
	Files    int64   `json:"files" doc:"open"`
	Threads  int64   `json:"threads"`
}

// Beat sets the fields that an agent's heartbeat reports; Machine and Load stay if it has
// none of that kind. It appends to Executors. nil changes nothing.
func (a *Agent) Beat(b *agentpb.Beat) {
	if b == nil {
		return
	}
	a.Run, a.Phase, a.Unsaved, a.Oldest = b.GetRun(), b.GetPhase(), b.GetUnsaved(), time.Duration(b.GetOldestNs()).Seconds()
	if h := b.GetHello(); h != nil {
		a.Machine = &Machine{
			Version: h.GetVersion(), OS: h.GetOs(), Arch: h.GetArch(), Kernel: h.GetKernel(), CPU: h.GetCpu(), CPUs: int(h.GetCpus()),
			Memory: h.GetMemory(), OpenFiles: h.GetOpenFiles(), Isolation: h.GetIsolation(), Address: h.GetAddress(), Link: h.GetLinkMbits(),
		}
	}
	if h := b.GetHost(); h != nil {
		a.Load = &Load{
			Load1: h.GetLoad1(), Load5: h.GetLoad5(), Load15: h.GetLoad15(), CPU: h.GetCpu(), Steal: h.GetCpuSteal(),
			Memory: h.GetMemoryTotal(), Available: h.GetMemoryAvailable(), NetIn: h.GetNetIn(), NetOut: h.GetNetOut(),
			DiskRead: h.GetDiskRead(), DiskWrite: h.GetDiskWrite(), DiskFree: h.GetDiskFree(), Sockets: h.GetSockets(), Files: h.GetFiles(),
		}
	}
	for _, p := range b.GetProcesses() {
		a.Executors = append(a.Executors, Process{
			Executor: p.GetExecutor(), PID: p.GetPid(), CPU: p.GetCpu(), Memory: p.GetMemory(), Files: p.GetFiles(), Threads: p.GetThreads(),
		})
	}
}
