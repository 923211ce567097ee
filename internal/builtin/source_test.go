package builtin

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// TestSettings holds that loads which differ in more than their URL and their seed have other
// settings, so that a comparison of their runs says so, and that no secret is among them.
func TestSettings(t *testing.T) {
	t.Parallel()
	load := func(change func(o *HTTP)) map[string]string {
		o := HTTP{Connections: 2, Targets: []Target{{Method: "GET", URL: "http://a.test/"}}, Client: Client{Timeout: time.Second, ConnectTimeout: 10 * time.Second, Streams: 1}}
		change(&o)
		return o.Settings()
	}
	plain := load(func(*HTTP) {})
	if same := load(func(o *HTTP) { o.Targets[0].URL = "http://b.test/" }); !maps.Equal(same, plain) {
		t.Errorf("another URL: %v, want %v", same, plain)
	}
	for name, change := range map[string]func(o *HTTP){
		"proxy":      func(o *HTTP) { o.Client.Proxy = "http://me:secret@127.0.0.1:1" },
		"HTTP/2":     func(o *HTTP) { o.Client.HTTP2 = true },
		"streams":    func(o *HTTP) { o.Client.Streams = 2 },
		"insecure":   func(o *HTTP) { o.Client.Insecure = true },
		"authority":  func(o *HTTP) { o.Client.CA = []byte("ca") },
		"name":       func(o *HTTP) { o.Client.ServerName = "b" },
		"resend":     func(o *HTTP) { o.Client.Resend = true },
		"handshakes": func(o *HTTP) { o.Client.NoResumption = true },
		"redirects":  func(o *HTTP) { o.Client.Redirects = 3 },
		"cookies":    func(o *HTTP) { o.Client.Cookies = true },
		"user":       func(o *HTTP) { o.Client.User = "me:secret" },
		"digest":     func(o *HTTP) { o.Client.Digest = true },
		"socket":     func(o *HTTP) { o.Client.Unix = "/s" },
		"source":     func(o *HTTP) { o.Client.Sources = []string{"127.0.0.2"} },
		"resolve":    func(o *HTTP) { o.Client.Resolve = []string{"a.test:80:127.0.0.1"} },
		"threads":    func(o *HTTP) { o.Threads = 1 },
		"timeout":    func(o *HTTP) { o.Client.ConnectTimeout = time.Second },
		"method":     func(o *HTTP) { o.Targets[0].Method = "HEAD" },
		"header":     func(o *HTTP) { o.Targets[0].Headers = map[string]string{"X": "secret"} },
		"keep-alive": func(o *HTTP) { o.Targets[0].Default("Connection", "close") },
		"body":       func(o *HTTP) { o.Targets[0].Body = []byte("secret") },
		"two URLs":   func(o *HTTP) { o.Targets = append(o.Targets, Target{Method: "POST", URL: "http://a.test/b"}) },
	} {
		got := load(change)
		if maps.Equal(got, plain) {
			t.Errorf("%s: the settings are the same", name)
		}
		for key, value := range got {
			if strings.Contains(value, "secret") {
				t.Errorf("%s: %s is %q", name, key, value)
			}
		}
	}
}
