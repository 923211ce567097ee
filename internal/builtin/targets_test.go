package builtin

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ targets, want string }{
		{"GET http://h/", ""},
		{"GET http://h/a, GET http://h/a", ""},
		{"GET http://h/a, GET http://h, GET http://h?q=1, GET http://h/a?token=x", "/a, /, /?q=1, /a?token=[redacted]"},
		{"GET http://h/a, POST http://h/a", "GET:/a, POST:/a"},
		{"GET http://h:1/a, GET http://h:2/{{rand 1 9}}", "h:1/a, h:2/{{rand 1 9}}"},
		{"GET http://h/a, PUT http://u:p@g/b", "GET:h/a, PUT:g/b"},
	} {
		var all []Target
		for _, text := range strings.Split(tt.targets, ", ") {
			method, url, _ := strings.Cut(text, " ")
			all = append(all, Target{Method: method, URL: url})
		}
		if got := strings.Join(names(all), ", "); strings.Trim(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.targets, got, tt.want)
		}
	}
}

func TestReadTargets(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		want       []Target
	}{
		{"one", "GET http://h/", []Target{{Method: "GET", URL: "http://h/"}}},
		{"URLs alone", "http://h/a\nhttps://h/b\n", []Target{{Method: "GET", URL: "http://h/a"}, {Method: "GET", URL: "https://h/b"}}},
		{"headers, a body, comments, no blank line", "# two\nPOST http://h/a\nX-A: 1\nX-a: 2\n# more\nX-B:\n@" + body + "\nGET http://h/{{seq}}?a=b:c\r\n\n", []Target{
			{Method: "POST", URL: "http://h/a", Headers: map[string]string{"X-A": "1, 2", "X-B": ""}, Body: []byte("hello")}, {Method: "GET", URL: "http://h/{{seq}}?a=b:c"}}},
		{"a header with a URL", "GET http://h/\nReferer: http://other/ x\n", []Target{{Method: "GET", URL: "http://h/", Headers: map[string]string{"Referer": "http://other/ x"}}}},
		{"JSON", `{"method":"PUT","url":"http://h/","header":{"A":["1","2"]},"body":"aGVsbG8="}` + "\n\n" + `{"url":"http://h/2"}`, []Target{
			{Method: "PUT", URL: "http://h/", Headers: map[string]string{"A": "1, 2"}, Body: []byte("hello")}, {Method: "GET", URL: "http://h/2"}}},
	} {
		got, err := ReadTargets(strings.NewReader(tt.text), "f")
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, error %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	for text, want := range map[string]string{
		"":                             "f: it has no targets",
		"# none\n\n":                   "f: it has no targets",
		"GET /path\n":                  `f:1: "GET /path" is not one of METHOD URL`,
		"get http://h/\n":              `f:1: "get http://h/" is not one of`,
		"GET http://h/\n\nX: 1\n":      `f:3: "X: 1" is not one of`,
		"GET http://h/\n\n@file\n":     `f:3: "@file" is not one of`,
		"GET http://h/\n@/absent/x\n":  "f:2: body: open /absent/x",
		"GET ftp://h/\n":               `f:1: the URL "ftp://h/" has scheme "ftp"`,
		"http://\n":                    "names no host",
		`{"url":"http://h/","x":1}`:    `f:1: not a target: json: unknown field "x"`,
		"{\"url\":\"http://h/\"}\n{\n": "f:2: not a target",
		`{"url":"http://h/"} {}`:       "f:1: not a target: want one JSON object a line",
		`{"url":"h"}`:                  "has no scheme",
		"GET http://h/\nX: " + strings.Repeat("x", maxLine): "f:2: the line is longer",
	} {
		if _, err := ReadTargets(strings.NewReader(text), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %q", text, err, want)
		}
	}
}

func TestCurl(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("a\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	accept := func(more ...string) map[string]string {
		h := map[string]string{"Accept": "*/*"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	const form = "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		line   string
		want   Target
		client Client
	}{
		{"curl http://h/", Target{"GET", "http://h/", accept(), nil}, Client{}},
		{"h:8080/x", Target{"GET", "http://h:8080/x", accept(), nil}, Client{}},
		{`curl 'http://h/?a=1&b=2' \` + "\n  -H 'Accept: text/html' \\\n  -H \"X-A: it's \\\"1\\\"\" --compressed", Target{"GET", "http://h/?a=1&b=2",
			map[string]string{"Accept": "text/html", "X-A": `it's "1"`, "Accept-Encoding": "gzip, deflate, br, zstd"}, nil}, Client{}},
		{`curl -x me:pw@p.test:3128 http://h/`, Target{"GET", "http://h/", accept(), nil}, Client{Proxy: "http://me:pw@p.test:3128"}},
		{`curl --proxy socks5://p.test:1080 http://h/`, Target{"GET", "http://h/", accept(), nil}, Client{Proxy: "socks5://p.test:1080"}},
		{`curl -d a=1 -d b=2 http://h/`, Target{"POST", "http://h/", accept("Content-Type", form), []byte("a=1&b=2")}, Client{}},
		{`curl --json '{"a":1}' http://h/`, Target{"POST", "http://h/", map[string]string{"Accept": "application/json", "Content-Type": "application/json"}, []byte(`{"a":1}`)}, Client{}},
		{`curl -H content-type:text/plain --data-raw @x -XPUT http://h/`, Target{"PUT", "http://h/", accept("content-type", "text/plain"), []byte("@x")}, Client{}},
		{`curl --data-binary @` + file + ` http://h/`, Target{"POST", "http://h/", accept("Content-Type", form), []byte("a\nb")}, Client{}},
		{`curl -d @` + file + ` http://h/`, Target{"POST", "http://h/", accept("Content-Type", form), []byte("ab")}, Client{}},
		{`curl -G -d q=1 --data-urlencode 'n=a b&c' http://h/?x`, Target{"GET", "http://h/?x&q=1&n=a+b%26c", accept(), nil}, Client{}},
		{`curl -I -k -sS -m 2.5 -u me:pw -A agent -e http://r/ -b 'a=1; b=2' -o /dev/null --url https://h/`, Target{"HEAD", "https://h/",
			accept("User-Agent", "agent", "Referer", "http://r/", "Cookie", "a=1; b=2"), nil}, Client{Insecure: true, Timeout: 2500 * time.Millisecond, User: "me:pw"}},
		{`curl $'http://h/\x41\u00e9\n' --data-raw $'it\'s\t\\'`, Target{}, Client{}},
		{`curl http://h/ --data-raw $'it\'s\t\\ \u00e9'`, Target{"POST", "http://h/", accept("Content-Type", form), []byte("it's\t\\ é")}, Client{}},
		{`curl -L --digest -u a:b --http2 -x socks5://p:1 --resolve h:80:127.0.0.1 --interface 127.0.0.2 --connect-timeout 3 http://h/`, Target{"GET", "http://h/", accept(), nil},
			Client{Redirects: 50, Digest: true, User: "a:b", HTTP2: true, Proxy: "socks5://p:1", Resolve: []string{"h:80:127.0.0.1"}, Sources: []string{"127.0.0.2"}, ConnectTimeout: 3 * time.Second}},
		{`curl -H 'X-Empty;' -H 'Accept:' http://h/a\ b`, Target{"GET", "http://h/a b", accept("X-Empty", ""), nil}, Client{}},
	} {
		got, client, err := Curl(tt.line)
		if tt.want.URL == "" {
			if err == nil {
				t.Errorf("%s: no error", tt.line)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(client, tt.client) {
			t.Errorf("%s:\n got %q %+v, error %v\nwant %q %+v", tt.line, got, client, err, tt.want, tt.client)
		}
	}
	for line, want := range map[string]string{
		"curl":                        "curl command: it has no URL",
		"curl http://a/ http://b/":    "it has two URLs, http://a/ and http://b/",
		"curl --what http://h/":       "gobench can't follow its option --what",
		"curl -F a=b http://h/":       "gobench can't follow its option -F",
		"curl http://h/ -H":           "option --header has no value",
		"curl http://h/ -H x":         `header "x" has no colon`,
		"curl 'http://h/":             "is not closed",
		`curl "http://h/`:             "is not closed",
		"curl -d @/absent/x http://h": "open /absent/x",
		"curl -b jar http://h":        "a file of cookies is not read",
		"curl -m x http://h":          `--max-time "x"`,
		"curl ftp://h/":               `scheme "ftp"`,
	} {
		if _, _, err := Curl(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

// Any line is parsed or is an error.
func FuzzCurl(f *testing.F) {
	for _, s := range []string{`curl -H 'a: b' http://h/`, `$'\x4`, `"\`, `-kH`, `\`, `$'\u12'`, `-XPOST --json {} h`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "@") {
			return // it names a file
		}
		target, _, err := Curl(line)
		if err == nil && (target.URL == "" || target.Method == "" && !strings.Contains(line, "-X") && !strings.Contains(line, "--request")) {
			t.Errorf("%q gives %+v", line, target)
		}
	})
}
