// Package redact removes secrets from texts that are displayed or stored: requests and answers
// as sent and received, URLs, errors. docs/inside.md lists what counts as a secret.
//
// It recognizes secrets by the names of headers, parameters and fields. A secret whose name
// does not indicate it is not redacted.
package redact

import (
	"strings"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// words are parts of names of secrets. They are compared without case and without "-", "_" and
// ".".
var words = []string{
	"authorization", "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey",
	"signature", "credential", "sessionid", "csrf", "xsrf",
}

// exact has names of secrets that are too short to search for in other names.
var exact = map[string]bool{
	"auth": true, "key": true, "sig": true, "sid": true, "pwd": true, "pass": true, "pin": true, "otp": true, "jwt": true, "bearer": true,
}

// maxName is the maximum length of a name that is checked, in bytes.
const maxName = 100

// Secret reports whether a value with this name is a secret. It ignores case, "-", "_" and
// ".". A name longer than 100 bytes is never one.
func Secret(name string) bool {
	if len(name) > maxName {
		return false
	}
	name = plain.Replace(strings.ToLower(name))
	if exact[name] {
		return true
	}
	for _, w := range words {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

var plain = strings.NewReplacer("-", "", "_", "", ".", "")

// Head returns the lines of a message's head without secrets: values of secret headers, of
// cookies, and what Line redacts. Line ends, names and white space are unchanged.
func Head(head string) string {
	lines := strings.Split(head, "\n")
	for i, line := range lines {
		lines[i] = header(line)
	}
	return strings.Join(lines, "\n")
}

// header returns a line of a head without secrets. It treats a line that is no header, as
// the request line, as Line does. A "\r" at the end stays.
func header(line string) string {
	name, value, ok := strings.Cut(line, ":")
	if !ok || strings.ContainsAny(name, " \t/{\"") {
		return Line(line) // a request line or status line
	}
	end := ""
	if strings.HasSuffix(value, "\r") {
		value, end = value[:len(value)-1], "\r"
	}
	value, space := strings.TrimLeft(value, " \t"), value[:len(value)-len(strings.TrimLeft(value, " \t"))]
	switch n := strings.ToLower(name); {
	case value == "":
	case n == "cookie":
		value = cookies(value)
	case n == "set-cookie" || n == "set-cookie2":
		first, rest, more := strings.Cut(value, ";")
		value = cookies(first)
		if more {
			value += ";" + Line(rest)
		}
	case n == "authorization" || n == "proxy-authorization":
		value = credentials(value)
	case Secret(name):
		value = Mark
	default:
		return Line(line)
	}
	return name + ":" + space + value + end
}

// cookies returns "a=1; b=2" with Mark instead of each value, and of each part without "=".
func cookies(list string) string {
	parts := strings.Split(list, ";")
	for i, p := range parts {
		name, _, ok := strings.Cut(p, "=")
		if !ok {
			name = p[:len(p)-len(strings.TrimLeft(p, " "))]
			parts[i] = name + Mark
			continue
		}
		parts[i] = name + "=" + Mark
	}
	return strings.Join(parts, ";")
}

// credentials replaces credentials by Mark, except for their scheme, if there is one: "Basic
// [redacted]".
func credentials(value string) string {
	if scheme, _, ok := strings.Cut(value, " "); ok && len(scheme) <= len("Negotiate") && !strings.ContainsFunc(scheme, notLetter) {
		return scheme + " " + Mark
	}
	return Mark
}

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' }

// Line returns a text without the secrets of the URLs in it: user and password before the
// host, and the values of secret names in NAME=VALUE after ?, & or ;, even outside of a
// URL. Other text is unchanged.
func Line(s string) string {
	return parameters(userinfo(s), "?&;")
}

// userinfo replaces what precedes an @ in the hosts of URLs by Mark.
func userinfo(s string) string {
	from := 0
	for {
		i := strings.Index(s[from:], "://")
		if i < 0 {
			return s
		}
		begin := from + i + len("://")
		end := begin + ends(s[begin:], "/?# \t\r\n\"'<>`")
		at := strings.LastIndexByte(s[begin:end], '@')
		if at < 0 {
			from = begin
			continue
		}
		s = s[:begin] + Mark + s[begin+at:]
		from = begin + len(Mark)
	}
}

// ends returns the first index in s of one of the characters, or the length of s.
func ends(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}

// parameters replaces by Mark the values in NAME=VALUE that follow one of the characters in
// before, if NAME is that of a secret. Empty values stay.
func parameters(s, before string) string {
	var b strings.Builder
	from := 0 // start of what is not written yet
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(before, s[i]) < 0 {
			continue
		}
		begin := i + 1
		name := s[begin : begin+ends(s[begin:], "=&;?# \t\r\n\"'<>")]
		equals := begin + len(name)
		if equals >= len(s) || s[equals] != '=' || !Secret(unescape(name)) {
			continue
		}
		end := equals + 1 + ends(s[equals+1:], "&;# \t\r\n\"'<>")
		if end > equals+1 {
			b.WriteString(s[from : equals+1])
			b.WriteString(Mark)
			from = end
		}
		i = end - 1
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// unescape decodes %XX, which could otherwise hide a name. An invalid %XX stays as it is.
func unescape(name string) string {
	if strings.IndexByte(name, '%') < 0 {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			high, low := hex(name[i+1]), hex(name[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// hex returns the value of a hexadecimal digit, or -1 if c is no such digit.
func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
