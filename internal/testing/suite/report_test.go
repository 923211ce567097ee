package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// What go test -json prints of a package that passes, one that fails, one whose test never
// ends, and one that does not build.
const events = `{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Test":"TestQuick","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestQuick","Elapsed":0.1}
{"Action":"pass","Package":"m/a","Test":"TestSlow/part","Elapsed":2}
{"Action":"pass","Package":"m/a","Test":"TestSlow","Elapsed":2.5}
{"Action":"pass","Package":"m/a","Elapsed":3}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:7: wrong\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad","Elapsed":0.2}
{"Action":"output","Package":"m/b","Output":"FAIL\n"}
{"Action":"fail","Package":"m/b","Elapsed":1}
{"Action":"run","Package":"m/c","Test":"TestWaits"}
{"Action":"output","Package":"m/c","Test":"TestWaits","Output":"=== PAUSE TestWaits\n"}
{"Action":"pause","Package":"m/c","Test":"TestWaits"}
{"Action":"output","Package":"m/c","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"m/c","Test":"TestHangs","Output":"\trunning tests:\n"}
{"Action":"output","Package":"m/c","Test":"TestHangs","Output":"\n"}
{"Action":"output","Package":"m/c","Test":"TestHangs","Output":"goroutine 1 [chan receive]:\n\ttesting.go:7\n"}
{"Action":"output","Package":"m/c","Test":"TestHangs","Output":"\n"}
{"Action":"output","Package":"m/c","Test":"TestHangs","Output":"goroutine 2 [chan receive]:\n\tc_test.go:9\n"}
{"Action":"fail","Package":"m/c","Elapsed":600}
{"ImportPath":"m/d","Action":"build-output","Output":"d.go:1: undefined: x\n"}
{"Action":"fail","Package":"m/d","Elapsed":0,"FailedBuild":"m/d"}
`

func TestReport(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := report{out: &b}
	n, err := r.read(strings.NewReader(events))
	if err != nil || n != strings.Count(events, "\n") {
		t.Fatalf("%d events, %v", n, err)
	}
	if !r.failed() || r.passed != 3 || r.failures != 3 {
		t.Errorf("failed %v, %d passed, %d failed; want true, 3, 3", r.failed(), r.passed, r.failures)
	}
	r.print(2, 605*time.Second)
	for _, want := range []string{"m/c", "2.5 s  m/a TestSlow\n", "4 packages in 605 s", "3 passed, 3 failed\n",
		"b_test.go:7: wrong", "panic: test timed out", "running tests:", "c_test.go:9", "d.go:1: undefined: x", "FAIL\tm/b"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "TestQuick") || strings.Contains(b.String(), "noise") {
		t.Errorf("more than two tests in\n%s", &b)
	}
	if strings.Contains(b.String(), "TestWaits") || strings.Contains(b.String(), "testing.go:7") {
		t.Errorf("a test that had not begun, or a stack without a test, in\n%s", &b)
	}
}
