package suggest

import (
	"slices"
	"testing"
)

func TestMeant(t *testing.T) {
	t.Parallel()
	commands := []string{"init", "run", "http", "target", "runs", "show", "clean", "ctl", "doctor", "version"}
	for word, want := range map[string]string{
		"htpt": "http", "rnu": "run", "rns": "runs", "doc": "doctor", "shwo": "show", "vers": "version", "clena": "clean",
		"list": "", "x": "", "": "", "bench": "", "http://localhost/": "", "scenario.go": "",
	} {
		if got := Meant(word, commands); got != want {
			t.Errorf("%q means %q, want %q", word, got, want)
		}
	}
	if got := Meant("run", nil); got != "" {
		t.Errorf("of no words %q", got)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"htpt", "http", 1}, {"ab", "ba", 1}, {"abc", "abc", 0}, {"conections", "connections", 1}} {
		if got := distance(tt.a, tt.b); got != tt.want || distance(tt.b, tt.a) != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestSorted(t *testing.T) {
	t.Parallel()
	if got := Sorted("hom.latency", []string{"b", "home.latency", "shop.latency"}); !slices.Equal(got, []string{"home.latency", "shop.latency", "b"}) {
		t.Error(got)
	}
}
