package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/wire"
)

// keep is a folder for reports and pictures, to look at them after the tests; empty for a
// temporary one.
var keep = os.Getenv("GOBENCH_UI_KEEP")

// TestPages opens reports in a browser, without a network. test/*.test.ts checks what is
// seen there. This test writes what they read: for each run a page and its JSON.
func TestPages(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules"); err != nil {
		t.Fatal("ui/node_modules is missing: make ui installs it")
	}
	dir := keep
	if dir == "" {
		dir = t.TempDir()
	}
	for name, m := range runs(t) {
		write(t, filepath.Join(dir, name), m)
	}
	realRun(t, filepath.Join(dir, "real"))
	node(t, dir, "test.mjs")
}

// node runs a script of ui with the folder of reports. It is killed at the end of the test.
func node(t *testing.T, dir, script string) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Env = append(os.Environ(), "GOBENCH_REPORTS="+dir, "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, out)
	}
	t.Logf("%s", out)
}

func write(t *testing.T, name string, m *made) {
	t.Helper()
	for ending, f := range map[string]func(*os.File) error{
		".html": func(w *os.File) error { return report.HTML(w, m.result, m.each) },
		".json": func(w *os.File) error { return report.JSON(w, m.result, m.each) },
	} {
		file, err := os.Create(name + ending)
		if err != nil {
			t.Fatal(err)
		}
		if err := f(file); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// realRun writes both by gobench itself.
func realRun(t *testing.T, name string) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer target.Close()
	cmd := binary.Command(t, "--dir", t.TempDir(), "http", target.URL, "-c", "5", "--rate", "500", "--duration", "2s", "--warmup", "500ms", "-q",
		"-o", name+".html", "-o", name+".json", "--threshold", "http.latency p99 < 10s")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// runs returns the runs whose pages are tested, by name.
func runs(t *testing.T) map[string]*made {
	empty := newRun(t, "empty.go")
	empty.result.Verdict, empty.result.Start = "", time.Time{}

	failed := shop(t)
	failed.result.State, failed.result.Cause, failed.result.Complete, failed.result.Verdict = run.Failed, "the executor exited with status 3", false, run.Invalid
	failed.result.Missing = []string{"executor 0: its last batch has not come; what it counted after 60.0 s is missing"}
	failed.result.Reasons = []run.Reason{{Signal: "totals", Level: run.Red, Text: "not all that was counted is in the totals: " + failed.result.Missing[0], Advice: "run it again; if an executor died, its log says why"}}

	cancelled := newRun(t, "cancelled.go")
	cancelled.result.State, cancelled.result.Cause, cancelled.result.Verdict, cancelled.result.Start = run.Cancelled, "cancelled by signal", "", time.Time{}

	second := newRun(t, "second.go")
	second.result.Config.Classes = []run.Class{{Name: "a", Users: 1, Load: "once a user"}}
	second.set("vu.a.active", 1)
	second.record("a.latency", "ns", 50, 1e6, 0.2)
	second.add("a.http_ok", 50)
	second.own(0.2)
	second.cut(800*time.Millisecond, false, nil)

	return map[string]*made{"shop": shop(t), "failed": failed, "cancelled": cancelled, "empty": empty, "second": second,
		"large": large(t, 50, 3600), "long": large(t, 2, 20_000), "hostile": hostile(t), "words": words(t)}
}

// words returns a run with long titles and many kinds of failure.
func words(t *testing.T) *made {
	m := newRun(t, strings.Repeat("a-very-long-name-", 7)+".go")
	m.result.Config.Target = "GET https://shop.example/" + strings.Repeat("a/long/path/", 20) + "?q=" + strings.Repeat("x", 200)
	m.result.Config.Classes = []run.Class{{Name: strings.Repeat("class", 12), Users: 100_000, Rate: 1234.5, Load: "once a user"}}
	prefix := strings.Repeat("prefix", 14)
	for s := range 20 {
		m.record(prefix+".latency", "ns", 100, 1e9, 1)
		m.add(prefix+".http_other_fail", 900)
		for i := range 30 {
			m.fail(prefix, "timeout", fmt.Sprintf("%d: %s", i, strings.Repeat("word ", 60)), int64(30-i)*10)
			if i < 12 {
				m.add(fmt.Sprintf("%s.error.class%02d", prefix, i), int64(i+s))
			}
		}
		m.cut(time.Second, false, nil)
	}
	return m
}

// payloads would run, or add elements, in a page that does not escape text.
var payloads = []string{
	`<script>window.hit=1</script>`, `</script><script>window.hit=1</script>`, `<img src=x onerror="window.hit=1">`, `<svg onload="window.hit=1">`,
	`"><script>window.hit=1</script>`, `'><img src=x onerror=window.hit=1>`, `<iframe srcdoc="<script>parent.hit=1</script>">`, `javascript:window.hit=1`,
	`<body onload=window.hit=1>`, `<!--<script>window.hit=1</script>`, `--><script>window.hit=1</script>`, `</style><script>window.hit=1</script>`,
	`</title><script>window.hit=1</script>`, `<a href="javascript:window.hit=1">click</a>`, `<details open ontoggle=window.hit=1>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=window.hit=1>`,
	`${window.hit=1}`, `{{constructor.constructor('window.hit=1')()}}`, "\u2028window.hit=1//", "<\x00script>window.hit=1</script>", `<meta http-equiv=refresh content="0;url=javascript:window.hit=1">`, `<!--run-->`,
}

// hostile returns a run with the payloads in every field that comes from outside.
func hostile(t *testing.T) *made {
	m := newRun(t, strings.Join(payloads, " "))
	for s := range 3 {
		for i, p := range payloads {
			title := fmt.Sprintf("%d%s", i, p)
			m.number(title+".latency", "histogram", p, p, "ns")
			m.record(title+".latency", "ns", 10, 1e6, 0.5)
			m.batch.Counters = append(m.batch.Counters, &wire.Counter{Metric: m.number(title+".error."+p, "counter", p, p, p), Add: int64(s + 1)})
			m.gauges[m.number(title, "gauge", p, p, p)] = 5
			m.fail(p, p, p, 1)
		}
		m.cut(time.Second, false, map[string]run.Severity{payloads[s]: run.Red})
	}
	r := m.result
	r.Cause, r.Missing, r.Notes = payloads[1], payloads, append([]string{"at 1.0 s: " + payloads[0]}, payloads...)
	r.Complete, r.Verdict = false, run.Invalid
	r.Gobench, r.ID = payloads[1], payloads[2]
	r.Config.Command, r.Config.Scenario, r.Config.Target, r.Config.Executor = payloads, payloads[0], payloads[1], payloads[2]
	r.Config.Options, r.Config.Parameters = map[string]string{}, map[string]string{}
	r.Environment = run.Environment{Host: payloads[0], OS: payloads[1], Arch: payloads[2], Kernel: payloads[3], CPU: payloads[4], CPUs: 1, Go: payloads[5]}
	at := 1.5
	for i, p := range payloads {
		r.Config.Options[p], r.Config.Parameters[p] = p, p
		r.Config.Classes = append(r.Config.Classes, run.Class{Name: p, Users: int64(i + 1), Load: p, Closed: i%2 == 0})
		r.Reasons = append(r.Reasons, run.Reason{Signal: p, Level: run.Red, Text: p, Advice: p, Windows: 2, Worst: 1})
		r.Thresholds = append(r.Thresholds, run.Threshold{Expression: p, Value: p, Reason: p, At: &at})
		r.Samples = append(r.Samples, run.Sample{Source: p, Class: p, Text: p})
	}
	return m
}
