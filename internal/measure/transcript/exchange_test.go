package transcript

import (
	"strings"
	"testing"
	"unicode"
)

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    Exchange
		want string
	}{
		{"a line", Exchange{What: "check failed"}, "check failed  (me)"},
		{"all of it", Exchange{
			What: "POST http://u:p@a.test/?token=1", Peer: "1.2.3.4:80", About: []string{"a new connection"},
			Parts: []Part{{"connect", 123456}, {"all", 12345678}},
			Sent:  Message{"POST / HTTP/1.1\r\nAuthorization: Basic x\r\n\r\n", []byte("a=1&password=2"), 14},
			Came:  Message{"HTTP/1.1 200 OK\r\n\r\n", []byte("one\ntwo"), 107},
			Error: "late\nfor http://u:p@a.test",
		}, `POST http://[redacted]@a.test/?token=[redacted]  (me)
  peer 1.2.3.4:80, a new connection, connect 123 µs, all 12.3 ms
> POST / HTTP/1.1
> Authorization: Basic [redacted]
>
> a=1&password=[redacted]
< HTTP/1.1 200 OK
<
< one
< two
< [100 more bytes]
  late
  for http://[redacted]@a.test`},
		{"a body without a head", Exchange{What: "SET", Sent: Message{"", []byte("x"), 1}}, "SET  (me)\n> x"},
		{"tabs", Exchange{What: "GET", Came: Message{"A:\tb\n", []byte("{\n\t1"), 0}}, "GET  (me)\n< A:\\tb\n<\n< {\n<     1"},
		{"no text", Exchange{What: "GET", Came: Message{"200\n", []byte("\x89PNG\r\n\x1a\n\x00\x00"), 5000}}, "GET  (me)\n< 200\n<\n< [5000 bytes that are no text]"},
		{"cut within a character", Exchange{What: "GET", Came: Message{"", []byte("aé")[:2], 3}}, "GET  (me)\n< a\n< [2 more bytes]"},
		{"what a terminal would obey", Exchange{What: "GET \x1b]0;x\a", Came: Message{"X: \x1b[2J\x9b1m\r\n", []byte("\u202egpj\x1b[31m and so much more text\nb\rc"), 0}, Error: "\x1b[A\u009b\x7f"},
			`GET \x1b]0;x\x07  (me)` + "\n" + `< X: \x1b[2J\x9b1m` + "\n<\n" + `< \u202egpj\x1b[31m and so much more text` + "\n" + `< b\x0dc` + "\n" + `  \x1b[A\u009b\x7f`},
	} {
		if got := tt.x.Text("me"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// Nothing that a server or a scenario sends reaches a terminal as a control sequence, and
// the length of a sample is limited.
func FuzzText(f *testing.F) {
	f.Add("GET /", "X: y\r\n", []byte("body"), "error")
	f.Add("\x1b[2J", "\x9b", []byte("\xff\xfe\x1b"), "\u202e\r\n")
	f.Fuzz(func(t *testing.T, what, head string, body []byte, err string) {
		x := Exchange{What: what, Sent: Message{head, body, 0}, Came: Message{head, body, int64(len(body)) + 1}, Peer: what, Error: err}
		for _, text := range []string{x.Text(what), x.Sample(what)} {
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Fatalf("%q has %q", text, text[i:])
			}
		}
	})
}
