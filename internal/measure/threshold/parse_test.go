package threshold

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Threshold{
		"home.latency p99 < 200ms":                      {Metric: "home.latency", Stat: "p99", Op: "<", Number: 200, Unit: "ms"},
		"home.latency p99<200ms":                        {Metric: "home.latency", Stat: "p99", Op: "<", Number: 200, Unit: "ms"},
		"  home.latency\tp99.99 <= 1.5 s ":              {Metric: "home.latency", Stat: "p99.99", Op: "<=", Number: 1.5, Unit: "s"},
		"home.latency max < 200µs":                      {Metric: "home.latency", Stat: "max", Op: "<", Number: 200, Unit: "us"},
		"home.http_fail rate < 1%":                      {Metric: "home.http_fail", Stat: "rate", Op: "<", Number: 1, Unit: "%"},
		`check "has a body" rate > 99.9 %`:              {Metric: "has a body", Check: true, Stat: "rate", Op: ">", Number: 99.9, Unit: "%"},
		`check "say \"hi\"" rate == 100%`:               {Metric: `say "hi"`, Check: true, Stat: "rate", Op: "==", Number: 100, Unit: "%"},
		"check count > 0":                               {Metric: "check", Stat: "count", Op: ">"},
		"home.http_ok rps >= 500":                       {Metric: "home.http_ok", Stat: "rps", Op: ">=", Number: 500},
		"home.bytes_in rps >= 1.5MiB":                   {Metric: "home.bytes_in", Stat: "rps", Op: ">=", Number: 1.5, Unit: "MiB"},
		"http.latency p99 < 200ms over 10s abort":       {Metric: "http.latency", Stat: "p99", Op: "<", Number: 200, Unit: "ms", Over: 10 * time.Second, Abort: true},
		"http.latency avg != 200ns over 1m30s":          {Metric: "http.latency", Stat: "avg", Op: "!=", Number: 200, Unit: "ns", Over: 90 * time.Second},
		"home.http_fail count == 0 abort":               {Metric: "home.http_fail", Stat: "count", Op: "==", Abort: true},
		`"vu.my own.active" value >= -5`:                {Metric: "vu.my own.active", Stat: "value", Op: ">=", Number: -5},
		"/pkg.Service/Method.grpc_ok count > 0 over 1h": {Metric: "/pkg.Service/Method.grpc_ok", Stat: "count", Op: ">", Over: time.Hour},
		"things.size p50 < 200":                         {Metric: "things.size", Stat: "p50", Op: "<", Number: 200},
	} {
		got, err := parse(text)
		if err != nil || got != want {
			t.Errorf("parse(%s) = %+v, %v\nwant %+v", text, got, err, want)
			continue
		}
		if again, err := parse(got.String()); err != nil || again != got {
			t.Errorf("%s reads as %+v, %v", got, again, err)
		}
	}
}

func TestStringIsPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a   p99<200 ms over 60s  abort": "a p99 < 200ms over 1m abort",
		`"a" rate >= 1.50 % over 3600s`:  "a rate >= 1.5% over 1h",
		`"a b" value != -0.0 over 90s`:   `"a b" value != 0 over 1m30s`,
		`check "x" rate > 99%`:           `check "x" rate > 99%`,
	} {
		if got, err := parse(text); err != nil || got.String() != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

// The caret is below what is wrong, and the problem names what was expected.
func TestErrorsPointAtTheColumn(t *testing.T) {
	for _, tt := range []struct{ text, caret, problem string }{
		{``, `^`, `want a metric's title, as home.latency, or check "name", not the end`},
		{`< 5`, `^`, `want a metric's title`},
		{`"" p99 < 5ms`, `^`, `want a metric's title`},
		{`check "" rate > 9%`, `      ^`, `want the check's name`},
		{`home.latency`, `            ^`, "want a statistic: avg, min, max"},
		{`home.latency p100 < 5ms`, `             ^`, `p99.9, count, rps, rate or value, not "p100"`},
		{`home.latency p < 5ms`, `             ^`, "want a statistic"},
		{`home.latency p0 < 5ms`, `             ^`, "want a statistic"},
		{`home.latency p9.9.9 < 5ms`, `             ^`, "want a statistic"},
		{`home.latency "p99" < 5ms`, `             ^`, "want a statistic"},
		{`check "a" p99 > 5`, `          ^`, "want rate: the share of a check that passed"},
		{`home.latency p99`, `                ^`, "want one of < <= > >= == !=, not the end"},
		{`home.latency p99 = 5ms`, `                 ^`, `want one of < <= > >= == !=, not "="`},
		{`home.latency p99 ! 5ms`, `                 ^`, `want one of`},
		{`home.latency p99 "<" 5ms`, `                 ^`, `want one of`},
		{`home.latency p99 <`, `                  ^`, "want a number, as 200ms, 1% or 500, not the end"},
		{`home.latency p99 < fast`, `                   ^`, `want a number, as 200ms, 1% or 500, not "fast"`},
		{`home.latency p99 < 1.2.3ms`, `                   ^`, `want a number`},
		{`home.latency p99 < 200msec`, `                      ^`, `no unit is called "msec"`},
		{`home.latency p99 < 200 msec`, `                       ^`, `no unit is called "msec"`},
		{`home.latency p99 < 1e9ms`, `                    ^`, `no unit is called "e9ms"`},
		{`home.latency p99 < 5%`, `                    ^`, "% is for a rate only, not for p99"},
		{`home.http_fail rate < 0.01`, `                          ^`, "a rate is a share: write it with %"},
		{`home.http_fail rate < 5ms`, `                       ^`, "a rate is a share"},
		{`home.http_fail rate < 101%`, `                      ^`, "a rate is from 0% to 100%"},
		{`home.http_fail rate < -1%`, `                      ^`, "a rate is from 0% to 100%"},
		{`home.http_ok rps > 5ms`, `                    ^`, "rps is not a time"},
		{`home.latency p99 < 5ms over`, `                           ^`, "want a time above 0, as 10s or 1m30s, not the end"},
		{`home.latency p99 < 5ms over 0s`, `                            ^`, "want a time above 0"},
		{`home.latency p99 < 5ms over 10`, `                            ^`, "want a time above 0"},
		{`home.latency p99 < 5ms for 10s`, `                       ^`, `want the end, "over" or "abort", not "for"`},
		{`home.latency p99 < 5ms over 1s x`, `                               ^`, `want the end or "abort"`},
		{`home.latency p99 < 5ms abort over 1s`, `                             ^`, `want the end, not "over"`},
		{`größe p99 < 5ms abort now`, `                      ^`, `want the end, not "now"`},
		{`check "has a body rate > 9%`, `      ^`, `a string ends with "`},
		{"home.latency\x00 p99 < 5ms", `            ^`, "this character has no place"},
		{"home\xff p99 < 5ms", `    ^`, "this character has no place"},
	} {
		_, err := parse(tt.text)
		var wrong *SyntaxError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		lines := strings.Split(wrong.Pointed(), "\n")
		if len(lines) != 2 || strings.TrimPrefix(lines[1], "  ") != tt.caret || !strings.Contains(wrong.Problem, tt.problem) {
			t.Errorf("%s\nwant the caret as in\n  %s\n  %s and: %s", wrong.Pointed()+"\n"+wrong.Error(), tt.text, tt.caret, tt.problem)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"home.latency p99 < 200ms over 10s abort", `check "has a body" rate > 99%`, "home.http_ok rps >= 500.25", `"a b" value != -5 over 1h0m1s`,
		"a p99.99<=1.5 GiB", "check rate < 1%", `"\xff\"" count == 0`, "größe avg > 3µs over 1.5us",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := parse(text)
		if err != nil {
			var wrong *SyntaxError
			if !errors.As(err, &wrong) || wrong.Column < 1 || wrong.Column > len(text)+1 || wrong.Problem == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			wrong.Pointed()
			return
		}
		again, err := parse(first.String())
		if err != nil || again != first || again.String() != first.String() {
			t.Fatalf("%q is %+v, but %q is %+v, %v", text, first, first.String(), again, err)
		}
	})
}

// A metric that can't be declared any more is missed before the load.
func TestExists(t *testing.T) {
	const missing = "no metric is called "
	for text, want := range map[string][2]string{ // of a scenario, and of a load of gobench's own
		"home.latency p99 < 200ms":        {"", ""},
		"home.latancy p99 < 200ms":        {"", missing},
		"home.url./a.latency p99 < 200ms": {"", ""},
		"home.error.timeout count == 0":   {"", ""},
		"home.error.tiemout count == 0":   {"", missing},
		"home.status.404 rate < 1%":       {"", ""},
		"other.status.404 rate < 1%":      {"", missing},
		"vu.a.active value < 5":           {"", ""},
		"vu.b.active value < 5":           {missing, missing},
		"gobench.cpuu max < 5":            {missing, missing},
		`check "vu.b" rate > 99%`:         {"", "no check is called "},
	} {
		x, err := ParseFor(text, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for i, builtin := range []bool{false, true} {
			err := x.Exists(declared, builtin)
			if (err == nil) != (want[i] == "") || err != nil && !strings.HasPrefix(err.Error(), want[i]) {
				t.Errorf("%s, builtin %v: %v, want %q", text, builtin, err, want[i])
			}
		}
	}
}

// A metric that is known says whether it can have the statistic and the unit.
func TestSuits(t *testing.T) {
	for text, want := range map[string]string{
		"home.latency p99 < 200":        "home.latency is a time: say in which unit, ns, us, ms, s or m",
		"home.latency p99 < 200ms":      "",
		"home.latency p99 < 2MB":        "home.latency is recorded in ns, not in MB",
		"home.http_ok p99 < 1s":         "home.http_ok is a counter: it has count, rps and rate, not p99",
		"things.size max < 2s":          "things.size is recorded in B, not in s",
		"vu.a.active count > 1":         "vu.a.active is a gauge: it has value, not count",
		"home.latancy p99 < 200":        "", // not known yet
		`check "has a body" rate > 99%`: "",
	} {
		x, err := ParseFor(text, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := x.Suits(declared); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
