package http

import (
	"strings"
	"testing"
	"time"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	const first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
	const second = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
	long := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxKnown) + "\r\n\r\n"
	read := func(s string) head {
		var h head
		if done, err := h.parse([]byte(s)); !done || err != nil {
			t.Fatal(done, err)
		}
		return h
	}
	var k known
	for _, tt := range []struct {
		name  string
		bytes string
		at    time.Duration
		learn string // afterwards
		want  bool
	}{
		{"nothing yet", first + "ok", 0, first, false},
		{"the same", first + "ok", 1, first, true},
		{"another", second + "abc", 2, second, false},
		{"too soon to learn another", second + "abc", 3, second, false},
		{"part of it", first[:10], 4, "", false},
		{"the first still", first, learnAfter, second, true},
		{"the other now", second + "abc", learnAfter + 1, first, true},
		{"not the first now", first, learnAfter + 2, "", false},
		{"too long to learn", long, 9 * learnAfter, long, false},
		{"too long still", long, 9 * learnAfter, "", false},
		{"the one before it", second, 9 * learnAfter, "", true},
	} {
		h, ok := k.find([]byte(tt.bytes))
		if ok != tt.want {
			t.Errorf("%s: found %v, want %v", tt.name, ok, tt.want)
		}
		if ok && h != read(tt.bytes) {
			t.Errorf("%s: %+v", tt.name, h)
		}
		if tt.learn != "" {
			k.learn(read(tt.learn), []byte(tt.learn), tt.at)
		}
	}
}
