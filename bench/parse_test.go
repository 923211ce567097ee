package main

import (
	"math"
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

// The files are what the tools printed, each at the version that its peer is pinned to.
func TestParse(t *testing.T) {
	t.Parallel()
	text := func(parse func(string) (outcome, error)) func(string) (outcome, error) {
		return func(name string) (outcome, error) { return parse(testdata(t, name)) }
	}
	bytes := func(parse func([]byte) (outcome, error)) func(string) (outcome, error) {
		return func(name string) (outcome, error) { return parse([]byte(testdata(t, name))) }
	}
	file := func(name string) (outcome, error) { return parseFortio(filepath.Join("testdata", name)) }
	for _, tt := range []struct {
		file string
		read func(string) (outcome, error)
		want outcome
	}{
		{"wrk.txt", text(parseWrk), outcome{79150, 71940.62, 0, untold, latency{0.394, 0.680, 3.57}}},
		{"wrk-errors.txt", text(parseWrk), outcome{73741, 73656.44, 7443 + 691, untold, latency{0.317, 4.58, 9.09}}},
		{"hey.txt", text(parseHey), outcome{41791, 41661.4761, 0, untold, latency{0.5, 5, 9.2}}},
		{"hey-errors.txt", text(parseHey), outcome{39021, 38997.3397, 3938, untold, latency{0.7, 3.6, 9.9}}},
		{"hey-refused.txt", text(parseHey), outcome{0, 56085.2329, 56127, untold, silent}},
		{"k6.json", bytes(parseK6), outcome{1453, 1450.936546237958, 0, 550, latency{0.194278, 1.3784542000000006, 3.395637}}},
		{"k6-failed.json", bytes(parseK6), outcome{16636, 16612.28675804266, 16636, 0, latency{0.16496, 1.9146440000000098, 9.748388}}},
		{"oha.json", bytes(parseOha), outcome{500, 500 / 1.001542829, 0, untold, latency{0.144163, 2.354412, 3.54627}}},
		{"oha-errors.json", bytes(parseOha), outcome{45448, 45448 / 1.001739274, 45448, untold, latency{0.069723, 0.879825, 62.525435}}},
		{"oha-refused.json", bytes(parseOha), outcome{0, 0, 20, untold, silent}},
		{"fortio.json", file, outcome{500, 499.3587065708257, 0, untold, latency{0.28695652173913046, 3.8125000000000012, 4.091989}}},
		{"fortio-errors.json", file, outcome{500, 499.3320844159078, 500, untold, latency{0.2903703703703704, 0.8500000000000001, 2.91301}}},
		{"ab.txt", text(parseAb), outcome{26171, 26169.98, 0, untold, latency{0, 1, 8}}},
		{"ab-errors.txt", text(parseAb), outcome{9953, 9952.07, 9953, untold, latency{0, 2, 7}}},
		{"h2load.txt", text(parseH2load), outcome{27201, 27201, 0, untold, latency{untold, untold, 10.12}}},
		{"h2load-errors.txt", text(parseH2load), outcome{47114, 47114, 47114, untold, latency{untold, untold, 3.21}}},
		{"jmeter.txt", text(parseJMeter), outcome{248, 111, 0, untold, latency{untold, untold, 275}}},
		{"jmeter-refused.txt", text(parseJMeter), outcome{626, 292.7, 626, untold, latency{untold, untold, 145}}},
		{"artillery.txt", text(parseArtillery), outcome{4034, 1390, 0, untold, latency{15, 58.6, 96}}},
		{"artillery-errors.txt", text(parseArtillery), outcome{6980, 2395, 6980, untold, latency{8.9, 21.1, 26}}},
		{"artillery-refused.txt", text(parseArtillery), outcome{0, 30, 30, untold, silent}},
	} {
		got, err := tt.read(tt.file)
		if err != nil || !near(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.file, got, err, tt.want)
		}
	}
	for name, parse := range map[string]func(string) (outcome, error){
		"wrk": parseWrk, "hey": parseHey, "ab": parseAb, "h2load": parseH2load, "jmeter": parseJMeter, "artillery": parseArtillery,
		"k6":              func(s string) (outcome, error) { return parseK6([]byte(s)) },
		"oha":             func(s string) (outcome, error) { return parseOha([]byte(s)) },
		"k6, no requests": func(string) (outcome, error) { return parseK6([]byte(`{"vus": {}}`)) },
		"oha, no answers": func(string) (outcome, error) { return parseOha([]byte(`{}`)) },
		"fortio, no file": func(string) (outcome, error) { return parseFortio(filepath.Join("testdata", "nosuch")) },
		"fortio, no JSON": func(string) (outcome, error) { return parseFortio(filepath.Join("testdata", "wrk.txt")) },
	} {
		if got, err := parse("unable to connect to 127.0.0.1:1 Connection refused\n"); err == nil {
			t.Errorf("%s: %+v from an output without figures", name, got)
		}
	}
}

// near reports whether two outcomes are the same except for the rounding of their units.
func near(a, b outcome) bool {
	fields := func(o outcome) []float64 {
		return []float64{o.requests, o.rate, o.failed, o.dropped, o.p50, o.p99, o.max}
	}
	return slices.EqualFunc(fields(a), fields(b), func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(y) })
}

func TestGobenchOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file string
		want outcome
		ok   bool
	}{
		{`{"seconds": 8, "complete": true, "metrics": [{"title": "http.http_ok", "count": 1000},
			{"title": "http.latency", "count": 510, "avg(ms)": 1.5}, {"title": "http.http_fail", "count": 7},
			{"title": "http.http_other_fail", "count": 1}]}`, outcome{1000, 125, 8, untold, silent}, true},
		{`{"seconds": 10, "complete": true, "metrics": [{"title": "http.http_ok", "count": 1000}, {"title": "vu.http.dropped", "count": 3},
			{"title": "vu.http.response", "count": 1000, "p50(ms)": 1.5, "p99(ms)": 2.5, "max(ms)": 3.5}]}`, outcome{1000, 100, 0, 3, latency{1.5, 2.5, 3.5}}, true},
		{`{"seconds": 5, "complete": false, "metrics": [{"title": "http.http_ok", "count": 500}]}`, outcome{}, false},
		{`{"seconds": 0, "complete": true, "metrics": [{"title": "http.http_ok", "count": 500}]}`, outcome{}, false},
		{`{"seconds": 5, "complete": true, "metrics": [{"title": "http.http_fail", "count": 7}]}`, outcome{}, false},
		{`{"metrics": [`, outcome{}, false},
	} {
		file := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(file, []byte(tt.file), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := gobench.read(usage{}, file)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: %+v, %v; want %+v", tt.file, got, err, tt.want)
		}
	}
}

func TestSteadyRate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file string
		want float64
	}{
		{`{"intervals": [{"seconds": 1, "metrics": {"http.http_ok": {"count": 900}}}, {"seconds": 1, "metrics": {}},
			{"seconds": 1, "metrics": {"http.http_ok": {"count": 100}}}, {"seconds": 0.5, "metrics": {"http.http_ok": {"count": 50}}}]}`, 100},
		{`{"intervals": [{"seconds": 1, "metrics": {}}]}`, 0},
		{`{}`, 0},
	} {
		file := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(file, []byte(tt.file), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := steadyRate(file); got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%s: %v, %v; want %v", tt.file, got, err, tt.want)
		}
	}
}

func TestParseGoBench(t *testing.T) {
	t.Parallel()
	got := parseGoBench([]byte(`goos: linux
pkg: github.com/gobench-io/gobench/internal/measure/hdr
cpu: AMD EPYC
BenchmarkRecord-2    	302437893	         3.955 ns/op	       0 B/op	       0 allocs/op
BenchmarkRecord-2    	302437893	         4.105 ns/op	       0 B/op	       0 allocs/op
BenchmarkAppend-2    	   70318	     17000 ns/op	      1404 B	       8 B/op	       1 allocs/op
PASS
ok  	github.com/gobench-io/gobench/internal/measure/hdr	6.1s
pkg: github.com/gobench-io/gobench/internal/measure/meter
BenchmarkRecord/many-2 	302437893	         9.5 ns/op	       0 B/op	       0 allocs/op
`))
	want := []microResult{
		{"internal/measure/hdr", "Record", []float64{3.955, 4.105}, 0, 0},
		{"internal/measure/hdr", "Append", []float64{17000}, 8, 1},
		{"internal/measure/meter", "Record/many", []float64{9.5}, 0, 0},
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
