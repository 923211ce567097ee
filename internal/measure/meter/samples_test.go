package meter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/transcript"
)

// The first failures of a source and class are stored, in bounded memory, and no text is
// made for the others.
func TestSamplesAreTheFirst(t *testing.T) {
	r := New()
	r.SetClasses([]string{"buyer", "seller"})
	_, s := With(t.Context(), r, nil, [2]uint64{})
	s.Class, s.User, s.Named = 1, 7, true
	made := 0
	sample := func(class string) {
		s.Sample("home", class, func() transcript.Exchange {
			made++
			return transcript.Exchange{What: fmt.Sprintf("%s %d", class, made), Error: strings.Repeat("é", maxSample)}
		})
	}
	for range 10 {
		sample("timeout")
	}
	if made != maxSamples {
		t.Errorf("%d texts made, want %d", made, maxSamples)
	}
	cut := r.Cut(Measured).Samples
	if len(cut) != maxSamples || !strings.HasPrefix(cut[0].Text, "timeout 1  (user 7 of seller)\n") || len(cut[0].Text) > maxSample || cut[0].Began.IsZero() {
		t.Errorf("%d samples, the first %.60q of %d bytes", len(cut), cut[0].Text, len(cut[0].Text))
	}
	sample("timeout")
	for i := range 2 * maxSampleKinds {
		sample(fmt.Sprint(i))
	}
	if n := len(r.Cut(Measured).Samples); n != maxSampleKinds-1 {
		t.Errorf("%d samples of many kinds, want %d", n, maxSampleKinds-1)
	}
	if n := testing.AllocsPerRun(100, func() { sample("timeout") }); n != 0 {
		t.Errorf("a failure that is not kept allocates %v times", n)
	}
}

// The watch shows this number of exchanges, with the remarks that belong to them, and then
// ends.
func TestWatchEnds(t *testing.T) {
	r := New()
	_, s := With(t.Context(), r, nil, [2]uint64{})
	s.Show(transcript.Exchange{What: "before"})
	var seen []string
	r.Watch(2, 2, func(text string) { seen = append(seen, text) })
	for range 3 {
		s.Remark(func() string { return "check" })
	}
	for range 3 {
		s.Show(transcript.Exchange{What: "exchange"})
	}
	if got := strings.Join(seen, "|"); got != "* check|* check|exchange|exchange" || r.Watched() {
		t.Errorf("seen %q, watched %v", got, r.Watched())
	}
	if n := testing.AllocsPerRun(100, func() { s.Remark(func() string { return "check" }) }); n != 0 {
		t.Errorf("a remark that nobody sees allocates %v times", n)
	}
}

// A log line is made only if OnLog was called, without secrets; the first failure of each
// kind is logged.
func TestLog(t *testing.T) {
	r := New()
	r.Log(func() string { t.Error("a line that nobody wants is made"); return "" })
	var lines []string
	r.OnLog(func(line string) { lines = append(lines, line) })
	for range 3 {
		r.Failed(NoPhase, "home", "timeout", "late")
	}
	r.Log(func() string { return "to http://me:pw@a.test\x1b[2J" })
	if got := strings.Join(lines, "|"); got != `first failure of its kind: home timeout: late|to http://[redacted]@a.test\x1b[2J` {
		t.Errorf("lines %q", got)
	}
}
