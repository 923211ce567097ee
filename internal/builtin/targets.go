package builtin

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
)

// maxLine is the maximum length of a line in a file of targets.
const maxLine = 16 << 20

// ReadTargets reads targets from text, or from JSON if the first target's line begins with {:
//
//	GET http://localhost:8080/
//	Accept: text/html
//
//	POST http://localhost:8080/items
//	Content-Type: application/json
//	@body.json
//
// A line with only a URL is a GET; one that begins with # is a comment, except in JSON; an
// empty line ends the headers of a target. @ names the file of a body, relative to the current
// folder, which is read whole. A JSON line is {"method", "url", "header": {"NAME": ["VALUE"]},
// "body": BASE64}; other keys are errors. A line is shorter than 16 MiB; the number of targets
// is not limited.
//
// ReadTargets reads r to its end, or to the first error, and does not close it. name is only
// for errors. An error begins with NAME:LINE, or with NAME if there are no targets, and no
// targets are returned with it. URLs are checked as by [CheckURL], templates are not.
func ReadTargets(r io.Reader, name string) ([]Target, error) {
	t := &targetReader{lines: bufio.NewScanner(r)}
	t.lines.Buffer(make([]byte, 64<<10), maxLine)
	err := t.read()
	if err == nil {
		if err = t.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			t.line++
			err = fmt.Errorf("the line is longer than %d bytes", maxLine)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, t.line, err)
	}
	if len(t.targets) == 0 {
		return nil, fmt.Errorf("%s: it has no targets", name)
	}
	return t.targets, nil
}

// targetReader holds what ReadTargets has read so far. The errors of its methods do not
// contain the line's number, which is line.
type targetReader struct {
	lines   *bufio.Scanner
	line    int
	json    bool
	open    bool // the last target may have more lines
	targets []Target
}

// read reads all lines. It returns nil if reading itself fails; see lines.Err.
func (t *targetReader) read() error {
	for t.lines.Scan() {
		t.line++
		line := strings.TrimSpace(t.lines.Text())
		if len(t.targets) == 0 && strings.HasPrefix(line, "{") {
			t.json = true
		}
		var err error
		switch {
		case line == "":
			t.open = false
		case t.json:
			err = t.object(line)
		case strings.HasPrefix(line, "#"):
		case t.open && strings.HasPrefix(line, "@"):
			err = t.body(line[1:])
		default:
			err = t.text(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// object adds the target in a line of JSON. An unknown key, anything after the object and a
// wrong URL are errors.
func (t *targetReader) object(line string) error {
	var o struct {
		Method string      `json:"method"`
		URL    string      `json:"url"`
		Header http.Header `json:"header"`
		Body   []byte      `json:"body"`
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("not a target: %w", err)
	}
	if d.More() {
		return errors.New("not a target: want one JSON object a line")
	}
	target := Target{Method: o.Method, URL: o.URL, Body: o.Body}
	for name, values := range o.Header {
		for _, v := range values {
			target.AddHeader(name, v)
		}
	}
	return t.add(target)
}

// text adds the target in a line of text, or the header in it to the open target. Any other
// line, and a header without an open target, is an error that quotes it.
func (t *targetReader) text(line string) error {
	method, rest, two := strings.Cut(line, " ")
	switch {
	case strings.Contains(method, "://") && !two:
		return t.add(Target{URL: line})
	case two && !strings.HasSuffix(method, ":") && strings.Contains(rest, "://") && isMethod(method):
		return t.add(Target{Method: method, URL: strings.TrimSpace(rest)})
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || !t.open || name == "" || strings.ContainsAny(name, " /") {
		return fmt.Errorf("%q is not one of METHOD URL, NAME: VALUE below it, @FILE below it, # a comment", shorten(line))
	}
	t.targets[len(t.targets)-1].AddHeader(name, strings.TrimSpace(value))
	return nil
}

func isMethod(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' })
}

// body reads the file of the open target's body, and replaces an earlier one. There must be a
// target.
func (t *targetReader) body(file string) error {
	b, err := os.ReadFile(strings.TrimSpace(file))
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	t.targets[len(t.targets)-1].Body = b
	return nil
}

// add adds a target, GET without a method, and opens it for headers. An error is that of its
// URL.
func (t *targetReader) add(target Target) error {
	if target.Method == "" {
		target.Method = "GET"
	}
	if err := CheckURL(target.URL); err != nil {
		return err
	}
	t.targets, t.open = append(t.targets, target), true
	return nil
}

// AddHeader adds a header. Values of the same name, ignoring case, become a list separated by
// commas (RFC 9110, section 5.3), under the name added first.
func (t *Target) AddHeader(name, value string) {
	if t.Headers == nil {
		t.Headers = map[string]string{}
	}
	for known := range t.Headers {
		if strings.EqualFold(known, name) {
			t.Headers[known] += ", " + value
			return
		}
	}
	t.Headers[name] = value
}

// ParseHeaders returns the values of headers given as "Name: value", by name; those whose
// names differ at most in case are joined to a list. For a line without a name and a colon it
// returns a *run.UsageError. Without lines the map is nil.
func ParseHeaders(lines []string) (map[string]string, error) {
	var t Target
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, run.Usage("write it as -H 'Name: value'", "--header %q has no name and colon", line)
		}
		t.AddHeader(name, strings.TrimSpace(value))
	}
	return t.Headers, nil
}

// Default adds a header if the target has no header of that name, ignoring case.
func (t *Target) Default(name, value string) {
	for known := range t.Headers {
		if strings.EqualFold(known, name) {
			return
		}
	}
	t.AddHeader(name, value)
}

// CheckURL returns an error, which quotes s, if s can't be the URL of a target: it needs the
// scheme http or https, a host, and a port of 1 to 65535 or none.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("the URL %q is wrong: %w", s, wrong.Err) // its text contains s
	case u.Scheme == "" || !strings.Contains(s, ":/"):
		return fmt.Errorf("the URL %q has no scheme: write it as http://%s", s, s)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL %q has scheme %q: want http or https", s, u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("the URL %q names no host", s)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("the URL %q has port %s: want 1 to 65535", s, port)
		}
	}
	return nil
}

// names returns the name of each target under which its requests are counted too: its path and
// query, behind its host if there are several, as "localhost:9001/items", and behind its method
// if there are several, as "POST:/items". They are empty if all are the same.
func names(all []Target) []string {
	methods, hosts, different := map[string]bool{}, hosts(all), map[string]bool{}
	for _, t := range all {
		methods[t.Method] = true
	}
	names := make([]string, len(all))
	for i, t := range all {
		host, rest := parts(t.URL)
		name := rest
		if len(hosts) > 1 {
			name = host + rest
		}
		if len(methods) > 1 {
			name = t.Method + ":" + name
		}
		names[i] = shorten(redact.Line(name))
		different[names[i]] = true
	}
	if len(different) < 2 {
		clear(names)
	}
	return names
}

// hosts returns the different schemes and hosts of targets.
func hosts(all []Target) map[string]bool {
	hosts := map[string]bool{}
	for _, t := range all {
		host, _ := parts(t.URL)
		scheme, _, _ := strings.Cut(t.URL, ":")
		hosts[strings.ToLower(scheme+"://"+host)] = true
	}
	return hosts
}

// parts returns the host, with its port, and the path with the query of a URL that CheckURL has
// accepted. The path may be a template.
func parts(url string) (host, rest string) {
	_, address, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		host, rest = address[:i], address[i:]
	} else {
		host = address
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return host[strings.LastIndexByte(host, '@')+1:], rest
}

// shorten returns s; if it is longer than 80 characters, the first 77 and "...".
func shorten(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return s
}
