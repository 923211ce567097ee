package agent

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// What is delivered and what is dropped adds up to what was printed, in order.
func TestOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", maxLine+500)
	for _, tt := range []struct {
		name  string
		limit int64
		in    []string
		want  string
	}{
		{"lines", 0, []string{"one\n", "two", " and a half\n\n", "three"}, "one\ntwo and a half\n\nthree"},
		{"a long line", 0, []string{"a\n" + long + "\nb\n"}, "a\n" + long[:maxLine] + "|500|\nb\n"},
		{"a long line in pieces", 0, []string{long[:100], long[100:], "z", "\nb\n"}, long[:maxLine] + "|501|\nb\n"},
		{"no newline", 0, []string{strings.Repeat("z", 3*maxLine)}, strings.Repeat("z", maxLine) + "|32768|"},
		{"too much", 10, []string{"123\n", "12345678\n", "1\n"}, "123\n123456|5|"},
		{"from the first byte on too much", 3, []string{"12345\n", "12\n"}, "123|6|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var logs []*agentpb.Log
			o := newOutput(newQuota(tt.limit), time.Hour, func(l *agentpb.Log) { logs = append(logs, l) })
			var all int64
			for _, s := range tt.in {
				if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
					t.Fatal(n, err)
				}
				all += int64(len(s))
			}
			o.close()
			var got bytes.Buffer
			var at int64
			for _, l := range logs {
				if l.Offset != at {
					t.Errorf("a piece at %d follows %d", l.Offset, at)
				}
				got.Write(l.Text)
				at += int64(len(l.Text)) + l.Dropped
				if l.Dropped > 0 {
					got.WriteString("|" + strconv.FormatInt(l.Dropped, 10) + "|")
				}
			}
			if at != all || got.String() != tt.want {
				t.Errorf("%d of %d bytes: %.100q ... %.100q", at, all, got.String(), got.String()[max(0, got.Len()-100):])
			}
		})
	}
}

func TestProcesses(t *testing.T) {
	for _, tt := range []struct {
		prepare *agentpb.Prepare
		files   uint64
		want    int
	}{
		{&agentpb.Prepare{Processes: 3, Users: 1e6}, 1024, 3},
		{&agentpb.Prepare{}, 1024, 1},
		{&agentpb.Prepare{Users: 800}, 1024, 1}, // 980 files
		{&agentpb.Prepare{Users: 900}, 1024, 2}, // 1090
		{&agentpb.Prepare{Users: 20000}, 20000, 2},
		{&agentpb.Prepare{Users: 1e9}, 1024, maxProcesses},
		{&agentpb.Prepare{Users: 1e6}, 0, 1}, // the limit is not known
	} {
		if got := processCount(tt.prepare, tt.files); got != tt.want {
			t.Errorf("%d users with %d files: %d processes, want %d", tt.prepare.Users, tt.files, got, tt.want)
		}
	}
}
