package cli

import (
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"30": 30 * time.Second, "0.5": 500 * time.Millisecond, "2m": 2 * time.Minute, "-1s": -time.Second, "0": 0} {
		var s timeValue
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%s is %v, error %v", text, time.Duration(s), err)
		}
	}
	for _, text := range []string{"", "soon", "NaN", "1e30", "Inf", "5 s"} {
		if err := new(timeValue).Set(text); err == nil {
			t.Errorf("%q is a time", text)
		}
	}
}
