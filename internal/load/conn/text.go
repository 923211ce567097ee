package conn

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxText is the largest length of an error's text, in bytes.
const maxText = 200

// stream is the number of an HTTP/2 stream in an error of golang.org/x/net/http2.
var stream = regexp.MustCompile(`\bstream ID \d+`)

// Text returns err's text without the parts that differ between equal failures, so that
// failures can be counted by text: the local address and port ("read tcp
// 10.0.0.1:40112->10.0.0.2:80: ..."), the number of an HTTP/2 stream, and the current time in the
// error about an expired certificate. It returns at most 200 bytes, cut between characters. err must not be nil.
func Text(err error) string {
	s := err.Error()
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		s = strings.Replace(s, ": "+e.Detail, "", 1)
	}
	s = stream.ReplaceAllString(s, "stream")
	for from := 0; ; {
		i := strings.Index(s[from:], "->")
		if i < 0 {
			break
		}
		end := from + i
		start := strings.LastIndexAny(s[:end], " \t") + 1
		if _, err := netip.ParseAddrPort(s[start:end]); err == nil {
			s = s[:start] + s[end+2:]
			from = start
		} else {
			from = end + 2
		}
	}
	if len(s) > maxText {
		end := maxText
		for !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	return s
}
