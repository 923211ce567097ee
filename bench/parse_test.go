package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func testdata(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The files are what wrk 4.1.0 and hey 0.1.5 printed.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file  string
		parse func(string) (outcome, error)
		want  outcome
	}{
		{"wrk.txt", parseWrk, outcome{79150, 71940.62, 0}},
		{"wrk-errors.txt", parseWrk, outcome{73741, 73656.44, 7443 + 691}},
		{"hey.txt", parseHey, outcome{41791, 41661.4761, 0}},
		{"hey-errors.txt", parseHey, outcome{39021, 38997.3397, 3938}},
		{"hey-refused.txt", parseHey, outcome{0, 56085.2329, 56127}},
	} {
		got, err := tt.parse(testdata(t, tt.file))
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.file, got, err, tt.want)
		}
	}
	for name, parse := range map[string]func(string) (outcome, error){"wrk": parseWrk, "hey": parseHey} {
		if got, err := parse("unable to connect to 127.0.0.1:1 Connection refused\n"); err == nil {
			t.Errorf("%s: %+v from an output without figures", name, got)
		}
	}
}

func TestParseGobench(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file string
		want outcome
		ok   bool
	}{
		{`{"seconds": 8, "complete": true, "metrics": [{"title": "http.http_ok", "count": 1000},
			{"title": "http.latency", "count": 510, "avg(ms)": 1.5}, {"title": "http.http_fail", "count": 7},
			{"title": "http.http_other_fail", "count": 1}]}`, outcome{1000, 125, 8}, true},
		{`{"seconds": 5, "complete": false, "metrics": [{"title": "http.http_ok", "count": 500}]}`, outcome{}, false},
		{`{"seconds": 0, "complete": true, "metrics": [{"title": "http.http_ok", "count": 500}]}`, outcome{}, false},
		{`{"seconds": 5, "complete": true, "metrics": [{"title": "http.http_fail", "count": 7}]}`, outcome{}, false},
		{`{"metrics": [`, outcome{}, false},
	} {
		got, err := parseGobench([]byte(tt.file))
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: %+v, %v; want %+v", tt.file, got, err, tt.want)
		}
	}
}

func TestParseGoBench(t *testing.T) {
	t.Parallel()
	got := parseGoBench([]byte(`goos: linux
pkg: github.com/gobench-io/gobench/internal/hdr
cpu: AMD EPYC
BenchmarkRecord-2    	302437893	         3.955 ns/op	       0 B/op	       0 allocs/op
BenchmarkRecord-2    	302437893	         4.105 ns/op	       0 B/op	       0 allocs/op
BenchmarkAppend-2    	   70318	     17000 ns/op	      1404 B	       8 B/op	       1 allocs/op
PASS
ok  	github.com/gobench-io/gobench/internal/hdr	6.1s
pkg: github.com/gobench-io/gobench/internal/meter
BenchmarkRecord/many-2 	302437893	         9.5 ns/op	       0 B/op	       0 allocs/op
`))
	want := []microResult{
		{"internal/hdr", "Record", []float64{3.955, 4.105}, 0, 0},
		{"internal/hdr", "Append", []float64{17000}, 8, 1},
		{"internal/meter", "Record/many", []float64{9.5}, 0, 0},
	}
	same := func(a *microResult, b microResult) bool {
		return a.pkg == b.pkg && a.name == b.name && slices.Equal(a.ns, b.ns) && a.bytes == b.bytes && a.allocs == b.allocs
	}
	if !slices.EqualFunc(got, want, same) {
		for _, g := range got {
			t.Errorf("%+v", *g)
		}
	}
}

func TestHeyPercentiles(t *testing.T) {
	out, err := os.ReadFile("testdata/hey.txt")
	if err != nil {
		t.Fatal(err)
	}
	p50, p99, greatest, err := heyPercentiles(string(out))
	if err != nil || p50 <= 0 || p50 > p99 || p99 > greatest || greatest != 9.2 {
		t.Errorf("%v, %v, %v ms, %v", p50, p99, greatest, err)
	}
	if _, _, _, err := heyPercentiles("nothing"); err == nil {
		t.Error("nothing has a distribution")
	}
}
