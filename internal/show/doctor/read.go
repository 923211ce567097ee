package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/load/runner"
	"github.com/gobench-io/gobench/internal/measure/health"
)

// Read reads this machine and the folders that runs write to. It takes a quarter of a
// second, because it measures timers. It creates and deletes an empty file in each folder.
func Read(folders []Folder) Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), ReusePorts: -1}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		f.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		f.FilesHard = uint64(limit.Max)
	}
	f.Quota, f.MemoryLimit = health.Allowed()
	f.readSystem("")
	f.measure()
	for _, d := range folders {
		d.look()
		f.Folders = append(f.Folders, d)
	}
	return f
}

// measure measures timers and the clock.
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

// look sets whether the folder, or the nearest existing one above it, can be written, and
// its free space.
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
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil {
		d.Free = uint64(st.Bavail) * uint64(st.Bsize)
		d.NoExec = d.Use == "cache" && noExec(&st)
	}
}

// reason returns the text of a path error without its path, which is of a temporary file.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}
