package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/load/runner"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run/system"
)

// Read reads this machine and the folders that runs write to; what it cannot read stays zero
// (ReusePorts: -1). It takes a quarter of a second, because it measures timers. It creates and
// deletes an empty file in each folder, or in the nearest existing one above it.
func Read(folders []Folder) Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), ReusePorts: -1}
	f.Kernel = system.Kernel()
	_, f.FilesHard = system.OpenFiles()
	f.Quota, f.MemoryLimit = health.Allowed()
	f.readSystem("")
	f.measure()
	for _, d := range folders {
		d.look()
		f.Folders = append(f.Folders, d)
	}
	return f
}

// measure measures timers and the clock, in a fifth of a second.
func (f *Facts) measure() {
	late := runner.Lateness(time.Millisecond, 200)
	slices.Sort(late)
	f.TimerP50, f.TimerP99 = late[len(late)/2], late[len(late)*99/100]
	const reads = 10_000
	began := time.Now()
	last := began
	for range reads {
		last = time.Now()
	}
	f.ClockRead = last.Sub(began) / reads
}

// look looks at the folder, or the nearest existing one above it. It sets Error if no file
// can be created and deleted there, and Free, which stays nil if unknown. NoExec is set only
// for the cache.
func (d *Folder) look() {
	dir := d.Path
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	file, err := os.CreateTemp(dir, ".gobench-doctor-")
	if err == nil {
		file.Close()
		err = os.Remove(file.Name())
	}
	if err != nil {
		d.Error = reason(err)
	}
	if disk, err := system.DiskOf(dir); err == nil {
		d.Free, d.NoExec = &disk.Free, d.Use == "cache" && disk.NoExec
	}
}

// reason returns the text of err; of a path error without the path, which is of a temporary
// file.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}
