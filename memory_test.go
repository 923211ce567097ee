package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// feeding is a scenario of 100,000 users, all busy at once, each with a row, again
// and again.
const feeding = `package main

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
)

var (
	file = scenario.Param("file", "", "a CSV file with a column id")
	rows *data.Feeder
)

func export() scenario.Vus {
	rows = data.CSV(*file, data.Options{Wrap: true})
	return scenario.Vus{{Nu: 100_000, Load: scenario.Shared(1_000_000), Start: func(context.Context, int) (scenario.User, error) {
		return new(user), nil
	}}}
}

type user struct{ row data.Row }

func (u *user) Iterate(ctx context.Context) error {
	if err := rows.Read(ctx, &u.row); err != nil {
		return err
	}
	time.Sleep(time.Second / 2)
	return nil
}
`

// TestDataIsStreamed feeds 100,000 users from a file of 2 GB: beside the same users
// with a file of one row the executor takes less than 20 MB more.
func TestDataIsStreamed(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "scenario.go")
	if err := os.WriteFile(scenario, []byte(feeding), 0o600); err != nil {
		t.Fatal(err)
	}
	small, big := filepath.Join(dir, "small.csv"), filepath.Join(dir, "big.csv")
	for path, size := range map[string]int64{small: 1, big: 2_000_000_000} {
		if err := writeRows(path, size); err != nil {
			t.Fatal(err)
		}
	}
	least := peakOf(t, "run", scenario, "-q", "--set", "file="+small)
	with := peakOf(t, "run", scenario, "-q", "--set", "file="+big)
	t.Logf("peak of the executor: %.1f MB with one row, %.1f MB with 2 GB of them", least, with)
	if with-least > 20 {
		t.Errorf("data of 2 GB cost %.1f MB", with-least)
	}
}

// writeRows writes a CSV file of at least so many bytes.
func writeRows(path string, size int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprintln(w, "id,name,password")
	line := []byte{}
	for written, id := int64(0), int64(0); written < size; id++ {
		line = strconv.AppendInt(line[:0], id, 10)
		line = append(line, ",\"somebody, who has a name\",and-a-password-that-takes-some-room\n"...)
		written += int64(len(line))
		_, _ = w.Write(line) // Flush tells
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// peakOf runs gobench and gives the greatest resident memory of its executor, in MB.
func peakOf(t *testing.T, args ...string) float64 {
	t.Helper()
	cmd := exec.Command("gobench", append([]string{"--dir", t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), "GOBENCH_NO_WARM=1")
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	peak, last := 0.0, 0 // of the child that comes last: the compiler ran before
	for {
		select {
		case err := <-ended:
			if err != nil || peak == 0 {
				t.Fatalf("gobench: %v, peak %v MB\n%s", err, peak, text.String())
			}
			return peak
		case <-time.After(50 * time.Millisecond):
			if pid, err := childOf(cmd.Process.Pid); err == nil {
				if pid != last {
					peak, last = 0, pid
				}
				peak = max(peak, highWater(pid))
			}
		}
	}
}

// highWater is the greatest resident memory that a process had so far, in MB; 0 when
// it has ended.
func highWater(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseFloat(fields[0], 64)
	return kb / 1000
}

// TestTenGigabytes discards an answer of 10 GB: all of it is counted, and the executor takes
// no more than for small ones.
func TestTenGigabytes(t *testing.T) {
	const size = 10_000_000_000
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- sendBody(listener, size) }()
	m := measure(t, "", nil, "http", "-n", "1", "-c", "1", "-d", "5m", "--timeout", "5m", "http://"+listener.Addr().String()+"/")
	listener.Close()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, x := range m.Metrics {
		if x.Count != nil {
			counts[x.Title] = *x.Count
		}
	}
	t.Logf("peak of the executor: %.1f MB", float64(m.peak)/1e6)
	if counts["http.http_ok"] != 1 || counts["http.bytes_in"] < size || m.peak == 0 || m.peak > 30e6 {
		t.Errorf("%d answers of %d bytes, and %d of memory: want 1 of %d at least, and 30 MB at most", counts["http.http_ok"], counts["http.bytes_in"], m.peak, int64(size))
	}
}

// sendBody answers one request with a body of so many bytes.
func sendBody(listener net.Listener, size int64) error {
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size); err != nil {
		return err
	}
	for part := make([]byte, 1<<20); size > 0; {
		n, err := c.Write(part[:min(size, int64(len(part)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}
