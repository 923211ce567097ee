package conn

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// maxText bounds an error's text, in bytes.
const maxText = 200

// Text gives err's text without what differs from one failure to the next, so that
// a table of texts stays small: the local address and port ("read tcp
// 10.0.0.1:40112->10.0.0.2:80: ..."), and the time at which a certificate was found
// to have expired. It is cut after 200 bytes.
func Text(err error) string {
	s := err.Error()
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		s = strings.Replace(s, ": "+e.Detail, "", 1)
	}
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
