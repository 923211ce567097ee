//go:build linux

package truth

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// feeding is a scenario of USERS users, all busy at once. Each reads ten rows.
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
	return scenario.Vus{{Nu: USERS, Load: scenario.Shared(10 * USERS), Start: func(context.Context, int) (scenario.User, error) {
		return new(user), nil
	}}}
}

type user struct{ row data.Row }

func (u *user) Iterate(ctx context.Context) error {
	if err := rows.Read(ctx, &u.row); err != nil {
		return err
	}
	time.Sleep(time.Second / 10)
	return nil
}
`

// TestDataIsStreamed feeds users from a large file. The executor uses less than 20 MB more
// memory than with a file of one row. At full size these are 100,000 users and 2 GB.
func TestDataIsStreamed(t *testing.T) {
	t.Parallel()
	users, size := "2_000", int64(100_000_000)
	if long.Run {
		users, size = "100_000", 2_000_000_000
	}
	dir := t.TempDir()
	scenario := filepath.Join(dir, "scenario.go")
	if err := os.WriteFile(scenario, []byte(strings.ReplaceAll(feeding, "USERS", users)), 0o600); err != nil {
		t.Fatal(err)
	}
	small, big := filepath.Join(dir, "small.csv"), filepath.Join(dir, "big.csv")
	for path, size := range map[string]int64{small: 1, big: size} {
		if err := writeRows(path, size); err != nil {
			t.Fatal(err)
		}
	}
	least := peakOf(t, "run", scenario, "-q", "--set", "file="+small)
	with := peakOf(t, "run", scenario, "-q", "--set", "file="+big)
	t.Logf("peak of the executor: %.1f MB with one row, %.1f MB with %d MB of them", least, with, size/1e6)
	if with-least > 20 {
		t.Errorf("data of %d MB cost %.1f MB", size/1e6, with-least)
	}
}

// writeRows writes a CSV file of at least size bytes.
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
		_, _ = w.Write(line) // Flush returns its error
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// peakOf runs gobench and returns the greatest resident memory of its executor, in MB.
func peakOf(t *testing.T, args ...string) float64 {
	t.Helper()
	cmd := binary.Command(t, append([]string{"--dir", t.TempDir()}, args...)...)
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	peak, last := 0.0, 0 // of the last child; the compiler was one before
	for {
		select {
		case err := <-ended:
			if err != nil || peak == 0 {
				t.Fatalf("gobench: %v, peak %v MB\n%s", err, peak, text.String())
			}
			return peak
		case <-time.After(50 * time.Millisecond):
			if pid, err := binary.Child(cmd.Process.Pid); err == nil {
				if pid != last {
					peak, last = 0, pid
				}
				peak = max(peak, highWater(pid))
			}
		}
	}
}

// highWater returns the greatest resident memory that a process had so far, in MB, 0 if it has
// ended.
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

// TestTenGigabytes discards an answer of 10 GB, in short of 500 MB: all of it is counted, and
// the executor uses less than 10 MB more memory than for an answer of one kilobyte.
func TestTenGigabytes(t *testing.T) {
	t.Parallel()
	size := int64(500_000_000)
	if long.Run {
		size = 10_000_000_000
	}
	small, large := discard(t, 1000), discard(t, size)
	t.Logf("peak of the executor: %.1f MB for 1 kB, %.1f MB for %.1f GB", small, large, float64(size)/1e9)
	if large-small > 10 {
		t.Errorf("an answer of %d bytes cost %.1f MB", size, large-small)
	}
}

// discard runs gobench http against one answer of size bytes, and returns the greatest resident
// memory of the executor before the last byte, in MB.
func discard(t *testing.T, size int64) (peak float64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	body := &largeBody{size: size, nearlySent: make(chan struct{}), finish: make(chan struct{})}
	sent := make(chan error, 1)
	go func() { sent <- body.answer(listener) }()
	m := measure(t, "", func(gobench int) {
		defer close(body.finish)
		select {
		case <-body.nearlySent:
		case <-time.After(4 * time.Minute):
			t.Error("the body was not read")
		}
		if executor, err := binary.Child(gobench); err != nil {
			t.Error(err)
		} else {
			peak = highWater(executor)
		}
	}, "http", "-n", "1", "-c", "1", "-d", "5m", "--timeout", "5m", "http://"+listener.Addr().String()+"/")
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if ok, in := binary.Total(m.Result, "http.http_ok"), binary.Total(m.Result, "http.bytes_in"); ok != 1 || in < size || peak == 0 {
		t.Errorf("%d answers of %d bytes, want 1 of %d at least; %v MB of memory", ok, in, size, peak)
	}
	return peak
}

// largeBody is the body of one answer.
type largeBody struct {
	size       int64         // bytes
	nearlySent chan struct{} // closed when one byte is left
	finish     chan struct{} // closed when that one is to be sent
}

// answer answers one request.
func (b *largeBody) answer(listener net.Listener) error {
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", b.size); err != nil {
		return err
	}
	part := make([]byte, 1<<20)
	for left := b.size - 1; left > 0; {
		n, err := c.Write(part[:min(left, int64(len(part)))])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	close(b.nearlySent)
	<-b.finish
	_, err = c.Write(part[:1])
	return err
}
