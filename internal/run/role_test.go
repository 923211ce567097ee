package run

import (
	"encoding/json"
	"testing"
)

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		role Role
		typ  MetricType
		fits bool
	}{
		{OpOK, Counter, true}, {OpOK, Histogram, false}, {OpTime, Histogram, true}, {ClassActive, Gauge, true},
		{Bytes, Counter, true}, {Bytes, Histogram, true}, {Other, Gauge, true}, {"op.odd", Counter, false},
	} {
		if got := tt.role.Fits(tt.typ); got != tt.fits {
			t.Errorf("%q fits a %s: %v", tt.role, tt.typ, got)
		}
	}
}

// A result of format 1 gets roles from its titles, and one of an unknown format is refused.
func TestAccept(t *testing.T) {
	for _, tt := range []struct {
		title, group string
		typ          MetricType
		want         Counts
	}{
		{"home.http_ok", "HTTP (home)", Counter, Counts{Role: OpOK, Of: "home"}},
		{"a.b.http_other_fail", "HTTP (a.b)", Counter, Counts{Role: OpUnanswered, Of: "a.b"}},
		{"home.latency", "HTTP (home)", Histogram, Counts{Role: OpTime, Of: "home"}},
		{"home.url.my orders.latency", "HTTP (home)", Histogram, Counts{OpTime, "home", "url", "my orders"}},
		{"home.error.local_fd", "HTTP (home)", Counter, Counts{OpUnanswered, "home", "error", "local_fd"}},
		{"home.status.204", "HTTP (home)", Counter, Counts{OpOK, "home", "status", "204"}},
		{"home.status.503", "HTTP (home)", Counter, Counts{OpFailed, "home", "status", "503"}},
		{"home.status.5xx", "HTTP (home)", Counter, Counts{Detail, "home", "status class", "5xx"}},
		{"home.recovery", "HTTP (home)", Histogram, Counts{}},
		{"vu.my.class.errors", "Users (my.class)", Counter, Counts{Role: ClassFailed, Of: "my.class"}},
		{"vu.a.iterations", "Users (a)", Counter, Counts{Role: ClassDone, Of: "a"}},
		{"vu.a.task.read.all", "Users (a)", Histogram, Counts{ClassTask, "a", "task", "read.all"}},
		{"vu.a.odd", "Users (a)", Counter, Counts{}},
		{"check.a.b.passed", "Checks", Counter, Counts{Role: CheckPassed, Of: "a.b"}},
		{"step.log in.time", "Steps", Histogram, Counts{Role: StepTime, Of: "log in"}},
		{"grpc.hello.fail", "Results (grpc.hello)", Counter, Counts{Role: OpUnanswered, Of: "grpc.hello"}},
		{"gobench.cpu", "Generator", Histogram, Counts{Role: Own, Part: "cpu"}},
		{"home.http_ok", "my own group", Counter, Counts{}},
		{"home.http_ok", "HTTP (home)", Gauge, Counts{}},
	} {
		b, err := json.Marshal(map[string]any{"format": "gobench.result/1", "metrics": []any{map[string]any{"title": tt.title, "group": tt.group, "type": tt.typ}}})
		if err != nil {
			t.Fatal(err)
		}
		var r Result
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		if err := r.Accept(); err != nil || r.Metrics[0].Counts != tt.want {
			t.Errorf("%s of %s, a %s: %+v, %v; want %+v", tt.title, tt.group, tt.typ, r.Metrics[0].Counts, err, tt.want)
		}
	}
	if err := (&Result{Format: "gobench.result/9"}).Accept(); err == nil {
		t.Error("format 9 is accepted")
	}
	r := Result{Format: Format, Metrics: []Metric{{Title: "home.http_ok", Group: "HTTP (home)", Type: Counter}}}
	if err := r.Accept(); err != nil || r.Metrics[0].Role != Other {
		t.Errorf("a result of today: role %q, %v: titles must mean nothing", r.Metrics[0].Role, err)
	}
}

// What a histogram lacks is counted by the metric of the same owner and part.
func TestMissing(t *testing.T) {
	whole := Counts{Role: OpTime, Of: "home"}
	part := Counts{OpTime, "home", "url", "orders"}
	metrics := []Metric{{Title: "a", Counts: part.As(OpUnanswered)}, {Title: "b", Counts: whole.As(OpUnanswered)}}
	for c, want := range map[Counts]string{whole: "b", part: "a"} {
		missing := c.Role.Missing()
		if m := Find(metrics, c.As(missing[0])); len(missing) != 1 || m == nil || m.Title != want {
			t.Errorf("%+v lacks what %v counts, want %s", c, m, want)
		}
	}
	if m := Find([]Metric{{Title: "undeclared"}}, Counts{}); m != nil {
		t.Errorf("no role finds %q", m.Title)
	}
}
