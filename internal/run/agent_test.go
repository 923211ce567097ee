package run

import (
	"strings"
	"testing"
)

func TestFindAgent(t *testing.T) {
	t.Parallel()
	type agent struct {
		id, name string
		rank     int
	}
	all := []agent{{"a1", "web", 1}, {"a2", "web", 2}, {"a3", "old", 0}, {"a4", "two", 1}, {"a5", "two", 1}, {"a6", "a1", 2}}
	for word, want := range map[string]string{
		"web": "a2", "a1": "a1", "a3": "a3", "a4": "a4", "old": "no agent is called", "none": "no agent is called", "two": "several agents are called",
	} {
		got, err := FindAgent(all, word, func(a agent) (string, string, int) { return a.id, a.name, a.rank })
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got.id != want {
			t.Errorf("%s: %v, %v, want %s", word, got, err, want)
		}
	}
}
