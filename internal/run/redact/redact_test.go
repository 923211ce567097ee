package redact

import (
	"net/url"
	"strings"
	"testing"
)

// Secrets are redacted, and nothing else is changed.
func TestHead(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n", "GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n"},
		{"Bearer", "Authorization: Bearer hunter2\r\n", "Authorization: Bearer [redacted]\r\n"},
		{"Basic", "authorization:Basic aHVudGVyMg==", "authorization:Basic [redacted]"},
		{"Digest", `Authorization: Digest username="me", response="hunter2"`, "Authorization: Digest [redacted]"},
		{"no scheme", "Authorization: hunter2", "Authorization: [redacted]"},
		{"a scheme that is none", "Authorization: hunter2hunter2 x", "Authorization: [redacted]"},
		{"to a proxy", "Proxy-Authorization: Basic hunter2", "Proxy-Authorization: Basic [redacted]"},
		{"cookies", "Cookie: a=hunter2; theme=hunter2", "Cookie: a=[redacted]; theme=[redacted]"},
		{"a cookie without a name", "Cookie: hunter2", "Cookie: [redacted]"},
		{"a cookie set", "Set-Cookie: sid=hunter2; Path=/; HttpOnly", "Set-Cookie: sid=[redacted]; Path=/; HttpOnly"},
		{"headers by their names", "X-Api-Key: hunter2\nX_Auth_Token: hunter2\nX-CSRF-Token: hunter2\nApikey: hunter2", "X-Api-Key: [redacted]\nX_Auth_Token: [redacted]\nX-CSRF-Token: [redacted]\nApikey: [redacted]"},
		{"empty", "Authorization: \r\nCookie:\r\n", "Authorization: \r\nCookie:\r\n"},
		{"the request line", "GET /a?token=hunter2&b=1 HTTP/1.1\r\n", "GET /a?token=[redacted]&b=1 HTTP/1.1\r\n"},
		{"through a proxy", "GET http://me:hunter2@a.test/?x=1 HTTP/1.1", "GET http://[redacted]@a.test/?x=1 HTTP/1.1"},
		{"a redirect", "Location: https://me:hunter2@a.test/cb?access_token=hunter2#x", "Location: https://[redacted]@a.test/cb?access_token=[redacted]#x"},
		{"names that say nothing", "Host: key.test\r\nETag: \"abc\"", "Host: key.test\r\nETag: \"abc\""},
	} {
		if got := Head(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"http://a.test/?a=1&b=2":                          "http://a.test/?a=1&b=2",
		"dial http://u@a.test: refused":                   "dial http://[redacted]@a.test: refused",
		"http://u:p@x@a.test/":                            "http://[redacted]@a.test/",
		"mail me@a.test":                                  "mail me@a.test",
		"nats://hunter2@h:1 and redis://:hunter2@h/0?x=y": "nats://[redacted]@h:1 and redis://[redacted]@h/0?x=y",
		"/?PASSWORD=hunter2;api_key=hunter2&key=hunter2":  "/?PASSWORD=[redacted];api_key=[redacted]&key=[redacted]",
		"/?%74oken=hunter2":                               "/?%74oken=[redacted]",
		"/?X-Amz-Signature=hunter2&X-Amz-Date=2026":       "/?X-Amz-Signature=[redacted]&X-Amz-Date=2026",
		"/?token=&a=1":                                    "/?token=&a=1",
		"/?monkey=1&keyboard=2":                           "/?monkey=1&keyboard=2",
		`GET "http://a.test/?sig=hunter2": eof`:           `GET "http://a.test/?sig=[redacted]": eof`,
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestBody(t *testing.T) {
	for in, want := range map[string]string{
		"user=me&password=hunter2&x=1":                    "user=me&password=[redacted]&x=1",
		"password=hunter2":                                "password=[redacted]",
		"a sentence on token=hunter2 is one":              "a sentence on token=hunter2 is one",
		`{"user":"me","password":"hunter2","n":1}`:        `{"user":"me","password":"[redacted]","n":1}`,
		`{"a":{"accessToken" : "hun\"ter2"},"b":"token"}`: `{"a":{"accessToken" : "[redacted]"},"b":"token"}`,
		`{"pin": 1234, "key":"hunt`:                       `{"pin": [redacted], "key":"[redacted]`,
		`{"tokens":[1,2],"secret":{"password":"x"}}`:      `{"tokens":[[redacted]],"secret":{"password":"[redacted]"}}`,
		`{"tokens": [["a]"], {"b":"c"}], "n":[1]}`:        `{"tokens": [[redacted]], "n":[1]}`,
		`{"tokens":["abc","d`:                             `{"tokens":[[redacted]`,
		`{"kind":"password","value":"a"}`:                 `{"kind":"password","value":"a"}`,
		"<a href='/?token=hunter2'>":                      "<a href='/?token=[redacted]'>",
		"":                                                "",
	} {
		if got := Body(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Secrets in a command line are not stored.
func TestArgs(t *testing.T) {
	got := Args([]string{"http", "-c", "3", "-H", "Authorization: Bearer hunter2", "-HX-Api-Key: hunter2", "--header=Cookie: a=hunter2", "-H", "Accept: */*",
		"-u", "me:hunter2", "--user=me:hunter2", "-ume:hunter2", "--proxy", "http://me:hunter2@p.test:1", "-x", "me:hunter2@p.test:1", "-xme:hunter2@p.test:1", "--set", "token=hunter2", "--set=users=5",
		"-b", "password=hunter2&x=1", `-b{"secret":"hunter2"}`, "--curl", "curl 'http://a.test/?key=hunter2' -H 'Authorization: hunter2' -u 'me:hunter2' --data 'pin=hunter2'",
		"--curl", "curl -u me:hunter2  -x me:hunter2@p.test:1 http://a.test/ --proxy 'me:hunter2@p.test:1'", "-u", "me:hun'hunter2", "--user", "-Hme:hunter2",
		"--curl", "curl http://a.test/ \\\n-u me:hunter2 \\\n\t--proxy \\\n me:hunter2@p.test:1",
		"--threshold", "http.latency p99 < 200ms", "-o", "r.json", "http://a.test/?token=hunter2&b=1"})
	want := []string{"http", "-c", "3", "-H", "Authorization: Bearer [redacted]", "-HX-Api-Key: [redacted]", "--header=Cookie: a=[redacted]", "-H", "Accept: */*",
		"-u", "me:[redacted]", "--user=me:[redacted]", "-ume:[redacted]", "--proxy", "http://[redacted]@p.test:1", "-x", "[redacted]@p.test:1", "-x[redacted]@p.test:1", "--set", "token=[redacted]", "--set=users=5",
		"-b", "password=[redacted]&x=1", `-b{"secret":"[redacted]"}`, "--curl", "curl 'http://a.test/?key=[redacted]' -H 'Authorization: [redacted]' -u 'me:[redacted]' --data 'pin=[redacted]'",
		"--curl", "curl -u me:[redacted]  -x [redacted]@p.test:1 http://a.test/ --proxy '[redacted]@p.test:1'", "-u", "me:[redacted]", "--user", "-Hme:[redacted]",
		"--curl", "curl http://a.test/ \\\n-u me:[redacted] \\\n\t--proxy \\\n [redacted]@p.test:1",
		"--threshold", "http.latency p99 < 200ms", "-o", "r.json", "http://a.test/?token=[redacted]&b=1"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// A secret in a known place is redacted whatever surrounds it, and redacting twice changes
// nothing.
func FuzzRedact(f *testing.F) {
	f.Add("a", "b", "c")
	f.Add("Cookie: x=", "\x00;", "\"")
	f.Add("http://", "@/", "?token=")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		secret := "Hunter2" + url.QueryEscape(value)
		for _, head := range []string{
			"Authorization: Bearer " + secret, "Cookie: " + url.QueryEscape(before) + "=" + secret, "Set-Cookie: a=" + secret + "; Path=/",
			"X-Api-Key: " + secret, "GET /?a=" + url.QueryEscape(before) + "&access_token=" + secret + "&b=1 HTTP/1.1", "Location: http://u:" + secret + "@h/",
		} {
			got := Head(head)
			if strings.Contains(got, secret) {
				t.Fatalf("%q: %q", head, got)
			}
			if again := Head(got); again != got {
				t.Fatalf("%q is %q, and then %q", head, got, again)
			}
		}
		all := before + value + after
		for _, redact := range []func(string) string{Head, Line, Body} {
			once := redact(all)
			if redact(once) != once {
				t.Fatalf("%q is %q, and then %q", all, once, redact(once))
			}
		}
	})
}
