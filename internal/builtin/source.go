package builtin

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// optionsFile is the file with the options of a load that agents make.
const optionsFile = "options.json"

// httpScenario is the scenario that agents run. It is the same for all loads, so that a
// master compiles it once for a platform.
const httpScenario = `// The load of gobench http. Its options are in ` + optionsFile + `.
package main

import (
	"github.com/gobench-io/gobench/executor/builtin"
	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return builtin.Load("http", "` + optionsFile + `") }
`

// Source returns what agents run for the options: a scenario, the options in a private file,
// and the rows of Data, whose file it reads. An error of that is a *run.UsageError; with an
// error the source is incomplete.
func (o HTTP) Source() (run.Source, error) {
	s := run.Source{Scenario: httpScenario}
	if o.Data != nil {
		rows, err := os.ReadFile(o.Data.File)
		if err != nil {
			return s, run.Usage("", "--data: %w", err)
		}
		data := *o.Data
		data.File = "data" + filepath.Ext(data.File)
		o.Data = &data
		s.Files = append(s.Files, run.File{Path: data.File, Data: rows, Private: true})
	}
	options, err := json.Marshal(o)
	s.Files = append(s.Files, run.File{Path: optionsFile, Data: options, Private: true})
	return s, err
}

// Settings returns the options that reports show and comparisons compare, by name, formatted
// as text, without secrets. Options that are not set are left out, except for a few. It needs
// at least one target: body_bytes is of the first. requests_sha256 stands for the methods,
// headers and bodies of all, if one is more than a plain GET.
func (o HTTP) Settings() map[string]string {
	config := map[string]string{
		"connections": fmt.Sprint(o.Connections), "requests": fmt.Sprint(o.Requests), "timeout": o.Client.Timeout.String(), "body_bytes": fmt.Sprint(len(o.Targets[0].Body)),
	}
	c := o.Client
	name, _, _ := strings.Cut(c.User, ":")
	for key, value := range map[string]any{ // as set
		"threads": o.Threads, "literal": o.Literal, "requests_sha256": digest(o.contents()), "connect_timeout": c.ConnectTimeout,
		"insecure": c.Insecure, "cacert_sha256": digest(c.CA), "cert_sha256": digest(c.Cert), "sni": c.ServerName, "full_handshakes": c.NoResumption, "resend": c.Resend,
		"http2": c.HTTP2, "redirects": c.Redirects, "cookies": c.Cookies, "user": name, "digest": c.Digest,
		"proxy": redact.Line(c.Proxy), "unix_socket": c.Unix, "source": strings.Join(c.Sources, ","), "resolve": strings.Join(c.Resolve, ","),
	} {
		if !reflect.ValueOf(value).IsZero() {
			config[key] = fmt.Sprint(value)
		}
	}
	if c.Streams > 1 {
		config["streams"] = fmt.Sprint(c.Streams)
	}
	if o.Data != nil {
		config["data"], config["data_order"], config["data_wrap"] = o.Data.File, o.Data.Order.String(), fmt.Sprint(o.Data.Wrap)
	}
	return config
}

// contents returns the targets without their URLs; nil if all are plain GETs.
func (o HTTP) contents() (all []Target) {
	plain := true
	for _, t := range o.Targets {
		t.URL = ""
		all = append(all, t)
		plain = plain && (t.Method == "" || t.Method == "GET") && len(t.Headers) == 0 && len(t.Body) == 0
	}
	if plain {
		return nil
	}
	return all
}

// digest returns the first 8 hexadecimal digits of the SHA-256 of v as JSON: enough to see
// that two differ, and too few to find a secret in v.
func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) <= len(`null`) {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))[:8]
}
