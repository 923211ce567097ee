package bus

import (
	"os/exec"
	"strings"
	"testing"
)

// TestExecutorsDoNotLinkTheBus: an executor with a NATS server would be twice as large, and
// the scenario could use it.
func TestExecutorsDoNotLinkTheBus(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "../../../executor/...", "../../../clients/http", "../../load/runner").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if dep = strings.TrimSpace(dep); strings.Contains(dep, "nats-io") || strings.HasSuffix(dep, "gobench/internal/master/bus") {
			t.Errorf("an executor links %s", dep)
		}
	}
	if !strings.Contains(string(out), "gobench/executor\n") {
		t.Error("the executor is not among what was looked at")
	}
}
