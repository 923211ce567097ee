package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"
)

func record(t testing.TB, executor int, b *Batch) []byte {
	out, err := AppendRecord(nil, executor, b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRecordsComeBack(t *testing.T) {
	var file []byte
	batches := []*Batch{{}, {Seq: 1, Notes: []string{"one"}}, {Seq: 1 << 60, Final: &Final{Refused: 3}}}
	for i, b := range batches {
		file = append(file, record(t, i*1000, b)...)
	}
	in := bufio.NewReader(bytes.NewReader(file))
	for i, want := range batches {
		executor, got, err := readRecord(in)
		if err != nil || executor != i*1000 || !proto.Equal(got, want) {
			t.Errorf("record %d: executor %d, %v, %v", i, executor, got, err)
		}
	}
	if _, _, err := readRecord(in); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestDamagedRecordsAreRefused(t *testing.T) {
	good := record(t, 3, &Batch{Seq: 7, Notes: []string{"a note"}})
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		if _, b, err := readRecord(bufio.NewReader(bytes.NewReader(bad))); err == nil {
			t.Errorf("byte %d flipped: accepted as %v", at, b)
		}
	}
	for cut := 1; cut < len(good); cut++ {
		if _, _, err := readRecord(bufio.NewReader(bytes.NewReader(good[:cut]))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	huge := []byte{0, 0xff, 0xff, 0xff, 0xff, 0x7f}
	if _, _, err := readRecord(bufio.NewReader(bytes.NewReader(huge))); !errors.Is(err, ErrRecord) {
		t.Errorf("a length of 32 GiB: %v", err)
	}
	if _, err := OpenRecords(bufio.NewReader(bytes.NewReader([]byte("another file, by far\n")))); !errors.Is(err, ErrRecord) {
		t.Errorf("another head: %v", err)
	}
}

// Metrics of an older file have roles by their titles, those of a new one their own or none.
func TestRolesOfRecords(t *testing.T) {
	batch := record(t, 0, &Batch{Seq: 1, Declared: []*Metric{{Title: "home.latency", Type: "histogram", Group: "HTTP (home)"}}})
	for head, want := range map[string]string{recordsHead1: "op.time", RecordsHead: ""} {
		records, err := OpenRecords(bufio.NewReader(bytes.NewReader(append([]byte(head), batch...))))
		if err != nil {
			t.Fatal(err)
		}
		if _, b, err := records.Next(); err != nil || b.Declared[0].Role != want {
			t.Errorf("%q: role %q, %v; want %q", head, b.GetDeclared()[0].GetRole(), err, want)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(record(f, 0, &Batch{}))
	f.Add(record(f, 300, &Batch{Seq: 7, Declared: []*Metric{{Title: "a"}}, Histograms: []*Histogram{{Metric: 1, Counts: []byte{1}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		executor, batch, err := readRecord(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		again, got, err := readRecord(bufio.NewReader(bytes.NewReader(record(t, executor, batch))))
		if err != nil || again != executor || !proto.Equal(got, batch) {
			t.Errorf("%x: written again it reads as %d, %v, %v", b, again, got, err)
		}
	})
}
