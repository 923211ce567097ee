package builtin

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Curl parses a curl command line, as browsers copy it, into a target and the options of its
// client. The word curl may be missing. Files that options name, as in -d @FILE, are read,
// relative to the current folder. Options that change neither result are ignored; those that
// gobench does not support are errors, and so are several URLs. All errors begin with "curl
// command: ", and the results are then zero.
func Curl(line string) (t Target, c Client, err error) {
	words, err := shellWords(line)
	if err != nil {
		return t, c, fmt.Errorf("curl command: %w", err)
	}
	if len(words) > 0 && words[0] == "curl" {
		words = words[1:]
	}
	p := &curlParser{words: words}
	if err := p.parse(); err != nil {
		return t, c, fmt.Errorf("curl command: %w", err)
	}
	return p.target, p.client, nil
}

// curlParser parses the words of a command line into target and client. An error of its
// methods quotes the option or value that is wrong.
type curlParser struct {
	words  []string
	target Target
	client Client
	data   []string
	isForm bool // the data is a form, unless a header contradicts
	asGet  bool // append the data to the URL
	head   bool
}

// curlOption is one of curl's options: a function for its value, or for an option without one.
type curlOption struct {
	value func(p *curlParser, value string) error
	flag  func(p *curlParser)
}

// setHeader returns an option whose value is that of the header name, unless it is set before.
func setHeader(name string) curlOption {
	return curlOption{value: func(p *curlParser, v string) error { p.target.Default(name, v); return nil }}
}

// bodyOption returns an option that adds its value to the data. With files, @FILE stands for
// the file's contents, without line ends if form is set.
func bodyOption(form, files bool) curlOption {
	return curlOption{value: func(p *curlParser, v string) error {
		if file, ok := strings.CutPrefix(v, "@"); ok && files {
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			v = string(b)
			if form { // as curl does
				v = strings.NewReplacer("\r", "", "\n", "").Replace(v)
			}
		}
		p.data = append(p.data, v)
		p.isForm = true
		return nil
	}}
}

// encoded adds the value in NAME=VALUE, =VALUE or VALUE, encoded for a form, to p's data. A
// file, as in @FILE or NAME@FILE, is an error.
func encoded(p *curlParser, v string) error {
	name, value, named := strings.Cut(v, "=")
	switch {
	case !named && strings.Contains(v, "@"):
		return fmt.Errorf("--data-urlencode %s: files are not read", v)
	case !named:
		v = url.QueryEscape(v)
	case name == "":
		v = url.QueryEscape(value)
	default:
		v = name + "=" + url.QueryEscape(value)
	}
	p.data, p.isForm = append(p.data, v), true
	return nil
}

var ignored, ignoredValue = curlOption{flag: func(*curlParser) {}}, curlOption{value: func(*curlParser, string) error { return nil }}

var curlOptions = map[string]curlOption{
	"--request": {value: func(p *curlParser, v string) error { p.target.Method = v; return nil }},
	"--url":     {value: (*curlParser).takeURL},
	"--header": {value: func(p *curlParser, v string) error {
		name, value, ok := strings.Cut(v, ":")
		if !ok {
			if name, ok = strings.CutSuffix(v, ";"); !ok { // an empty header
				return fmt.Errorf("header %q has no colon", v)
			}
		}
		if value = strings.TrimSpace(value); value != "" || strings.HasSuffix(v, ";") {
			p.target.AddHeader(strings.TrimSpace(name), value)
		}
		return nil
	}},
	"--data": bodyOption(true, true), "--data-ascii": bodyOption(true, true), "--data-raw": bodyOption(true, false), "--data-binary": bodyOption(false, true),
	"--data-urlencode": {value: encoded},
	"--json": {value: func(p *curlParser, v string) error {
		p.target.Default("Content-Type", "application/json")
		p.target.Default("Accept", "application/json")
		return bodyOption(false, true).value(p, v)
	}},
	"--get":        {flag: func(p *curlParser) { p.asGet = true }},
	"--head":       {flag: func(p *curlParser) { p.head = true }},
	"--user-agent": setHeader("User-Agent"),
	"--referer":    setHeader("Referer"),
	"--cookie": {value: func(p *curlParser, v string) error {
		if !strings.Contains(v, "=") {
			return fmt.Errorf("-b %s: a file of cookies is not read: write them as NAME=VALUE", v)
		}
		p.target.AddHeader("Cookie", v)
		return nil
	}},
	"--user":          {value: func(p *curlParser, v string) error { p.client.User = v; return nil }},
	"--digest":        {flag: func(p *curlParser) { p.client.Digest = true }},
	"--oauth2-bearer": {value: func(p *curlParser, v string) error { p.target.Default("Authorization", "Bearer "+v); return nil }},
	"--compressed":    {flag: func(p *curlParser) { p.target.Default("Accept-Encoding", "gzip, deflate, br, zstd") }},
	"--insecure":      {flag: func(p *curlParser) { p.client.Insecure = true }},
	"--max-time": {value: func(p *curlParser, v string) error {
		s, err := strconv.ParseFloat(v, 64)
		p.client.Timeout = time.Duration(s * float64(time.Second))
		if err != nil || p.client.Timeout <= 0 {
			return fmt.Errorf("--max-time %q: want seconds above 0", v)
		}
		return nil
	}},
	"--connect-timeout": {value: func(p *curlParser, v string) error {
		s, err := strconv.ParseFloat(v, 64)
		p.client.ConnectTimeout = time.Duration(s * float64(time.Second))
		if err != nil || p.client.ConnectTimeout <= 0 {
			return fmt.Errorf("--connect-timeout %q: want seconds above 0", v)
		}
		return nil
	}},
	"--location": {flag: func(p *curlParser) { p.client.Redirects = max(p.client.Redirects, 50) }},
	"--max-redirs": {value: func(p *curlParser, v string) (err error) {
		p.client.Redirects, err = strconv.Atoi(v)
		return err
	}},
	"--http2": {flag: func(p *curlParser) { p.client.HTTP2 = true }}, "--http2-prior-knowledge": {flag: func(p *curlParser) { p.client.HTTP2 = true }},
	"--proxy": {value: func(p *curlParser, v string) error {
		if !strings.Contains(v, "://") {
			v = "http://" + v
		}
		p.client.Proxy = v
		return nil
	}},
	"--unix-socket": {value: func(p *curlParser, v string) error { p.client.Unix = v; return nil }},
	"--interface":   {value: func(p *curlParser, v string) error { p.client.Sources = []string{v}; return nil }},
	"--resolve":     {value: func(p *curlParser, v string) error { p.client.Resolve = append(p.client.Resolve, v); return nil }},
	"--cacert":      {value: func(p *curlParser, v string) (err error) { p.client.CA, err = os.ReadFile(v); return err }},
	"--cert":        {value: func(p *curlParser, v string) (err error) { p.client.Cert, err = os.ReadFile(v); return err }},
	"--key":         {value: func(p *curlParser, v string) (err error) { p.client.Key, err = os.ReadFile(v); return err }},
	"--silent":      ignored, "--show-error": ignored, "--verbose": ignored, "--include": ignored, "--fail": ignored, "--no-buffer": ignored, "--globoff": ignored,
	"--http1.1": ignored, "--basic": ignored, "--no-keepalive": {flag: func(p *curlParser) { p.target.Default("Connection", "close") }},
	"--output": ignoredValue, "--write-out": ignoredValue, "--cookie-jar": ignoredValue, "--tlsv1.2": ignored, "--tlsv1.3": ignored,
}

var curlShort = map[byte]string{
	'X': "--request", 'H': "--header", 'd': "--data", 'G': "--get", 'I': "--head", 'A': "--user-agent", 'e': "--referer", 'b': "--cookie", 'u': "--user",
	'k': "--insecure", 'm': "--max-time", 's': "--silent", 'S': "--show-error", 'v': "--verbose", 'i': "--include", 'f': "--fail", 'N': "--no-buffer",
	'L': "--location", 'x': "--proxy", 'E': "--cert", 'c': "--cookie-jar",
	'g': "--globoff", 'o': "--output", 'w': "--write-out",
}

// parse parses all words and then finishes the target.
func (p *curlParser) parse() error {
	for len(p.words) > 0 {
		word := p.words[0]
		p.words = p.words[1:]
		var err error
		switch {
		case strings.HasPrefix(word, "--"):
			err = p.option(word, "", false)
		case len(word) > 1 && word[0] == '-':
			err = p.short(word[1:])
		default:
			err = p.takeURL(word)
		}
		if err != nil {
			return err
		}
	}
	return p.finish()
}

// option parses an option, by its long name, and its value, which is the next word unless has
// is set. A flag ignores value. An unknown option and a missing value are errors.
func (p *curlParser) option(name, value string, has bool) error {
	o, known := curlOptions[name]
	switch {
	case !known:
		return fmt.Errorf("gobench can't follow its option %s", name)
	case o.flag != nil:
		o.flag(p)
		return nil
	case !has && len(p.words) == 0:
		return fmt.Errorf("option %s has no value", name)
	case !has:
		value, p.words = p.words[0], p.words[1:]
	}
	return o.value(p, value)
}

// short parses short options without their dash, such as the kH of -kH 'A: b'. What follows
// an option that has a value is that value; if nothing does, the next word is.
func (p *curlParser) short(letters string) error {
	for i := range len(letters) {
		name, known := curlShort[letters[i]]
		if !known {
			return fmt.Errorf("gobench can't follow its option -%c", letters[i])
		}
		if curlOptions[name].flag == nil {
			rest := letters[i+1:]
			return p.option(name, rest, rest != "")
		}
		if err := p.option(name, "", false); err != nil {
			return err
		}
	}
	return nil
}

// takeURL sets the target's URL, with http:// before it if it has no scheme. A second URL and
// one that CheckURL refuses are errors.
func (p *curlParser) takeURL(s string) error {
	if p.target.URL != "" {
		return fmt.Errorf("it has two URLs, %s and %s", p.target.URL, s)
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s // as curl does
	}
	p.target.URL = s
	return CheckURL(s)
}

// finish completes the target as curl does: the data becomes its body, or with asGet a part of
// its query; then the method and default headers. A target without a URL is an error.
func (p *curlParser) finish() error {
	t := &p.target
	if t.URL == "" {
		return errors.New("it has no URL")
	}
	body := strings.Join(p.data, "&")
	switch {
	case p.asGet && p.isForm:
		join := "?"
		if strings.Contains(t.URL, "?") {
			join = "&"
		}
		t.URL += join + body
	case p.isForm:
		t.Body = []byte(body)
		t.Default("Content-Type", "application/x-www-form-urlencoded")
	}
	if t.Method == "" {
		switch {
		case p.head:
			t.Method = "HEAD"
		case t.Body != nil:
			t.Method = "POST"
		default:
			t.Method = "GET"
		}
	}
	t.Default("Accept", "*/*")
	return nil
}

// shellWords splits a line as a shell does: words separated by space, quotes of both kinds,
// $'...' with its escapes, a backslash before a character or a line end. It expands nothing
// else. A quote that is not closed is an error.
func shellWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
			continue
		case c == '\\' && i+1 < len(line):
			if i++; line[i] == '\n' || line[i] == '\r' {
				continue
			}
			word.WriteByte(line[i])
		case c == '\'' || c == '"' || strings.HasPrefix(line[i:], "$'"):
			text, length := quoted(line[i:])
			if length == 0 {
				return nil, fmt.Errorf("the quote at %.20q is not closed", line[i:])
			}
			word.WriteString(text)
			i += length - 1
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted returns the text of the quoted string ('...', "..." or $'...') at the start of s,
// without its quotes and escapes, and its length in s; "" and 0 if it is not closed.
func quoted(s string) (text string, length int) {
	ansi := s[0] == '$'
	i := 1
	if ansi {
		i = 2
	}
	end := s[i-1]
	var b strings.Builder
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == end:
			return b.String(), i + 1
		case c == '\\' && ansi && i+1 < len(s):
			i += ansiEscape(&b, s[i+1:])
		case c == '\\' && end == '"' && i+1 < len(s) && strings.IndexByte("\\\"$`\n", s[i+1]) >= 0:
			if i++; s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0
}

// ansiEscape writes the meaning of an escape in $'...', where s, which must not be empty,
// follows the backslash, and returns the length of the escape. An unknown escape means its
// character.
func ansiEscape(b *strings.Builder, s string) int {
	if i := strings.IndexByte("abefnrtv", s[0]); i >= 0 {
		b.WriteByte("\a\b\x1b\f\n\r\t\v"[i])
		return 1
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	n := 1
	for n <= digits && n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
		n++
	}
	if n > 1 {
		v, _ := strconv.ParseUint(s[1:n], 16, 32) // at most 8 digits
		if s[0] == 'x' {
			b.WriteByte(byte(v))
		} else {
			b.WriteRune(rune(v))
		}
		return n
	}
	b.WriteByte(s[0])
	return 1
}
