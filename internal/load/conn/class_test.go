package conn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

func opError(op string, err error) error {
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40112}
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 80}
	return &net.OpError{Op: op, Net: "tcp", Source: local, Addr: remote, Err: err}
}

// Thresholds know the classes before the first failure of each.
func TestClassesAreKnown(t *testing.T) {
	if !slices.Equal(run.ErrorClasses, classes[:]) {
		t.Errorf("the classes are %q, and run.ErrorClasses %q", classes, run.ErrorClasses)
	}
}

func TestClassify(t *testing.T) {
	errno := func(e syscall.Errno) error { return opError("read", os.NewSyscallError("read", e)) }
	for _, tt := range []struct {
		err  error
		want Class
	}{
		{errno(syscall.ECONNREFUSED), Refused},
		{errno(syscall.ECONNRESET), Reset},
		{errno(syscall.EPIPE), Reset},
		{errno(syscall.ECONNABORTED), Reset},
		{errno(syscall.ETIMEDOUT), Timeout},
		{opError("read", os.ErrDeadlineExceeded), Timeout},
		{context.DeadlineExceeded, Timeout},
		{&net.DNSError{Err: "no such host", Name: "a.invalid", IsNotFound: true}, DNS},
		{&net.DNSError{Err: "i/o timeout", Name: "a.invalid", IsTimeout: true}, DNS},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, TLS},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, TLS},
		{tls.AlertError(40), TLS},
		{io.EOF, EOF},
		{io.ErrUnexpectedEOF, EOF},
		{&Error{Class: TooLarge, Err: errors.New("large")}, TooLarge},
		{fmt.Errorf("get: %w", &Error{Class: Protocol, Err: errors.New("garbage")}), Protocol},
		{errno(syscall.EMFILE), LocalFD},
		{errno(syscall.ENFILE), LocalFD},
		{&net.DNSError{Err: "dial udp 10.0.0.2:53: socket: too many open files", Name: "a"}, LocalFD},
		{errno(syscall.EADDRNOTAVAIL), LocalPort},
		{errno(syscall.EADDRINUSE), LocalPort},
		{context.Canceled, Canceled},
		{fmt.Errorf("get: %w", context.Canceled), Canceled},
		{opError("dial", context.Canceled), Canceled},
		{opError("read", net.ErrClosed), Canceled},
		{errno(syscall.EHOSTUNREACH), Other},
		{errors.New("something else"), Other},
	} {
		if got := Classify(tt.err); got != tt.want {
			t.Errorf("Classify(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestClassWords(t *testing.T) {
	seen := map[string]bool{}
	for c := range Class(Classes) {
		if s := c.String(); s == "" || seen[s] {
			t.Errorf("class %d is %q", c, s)
		} else {
			seen[s] = true
		}
		if c.Local() != (strings.HasPrefix(c.String(), "local_") || c == Blocked) {
			t.Errorf("%v.Local() = %v", c, c.Local())
		}
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"local port", opError("read", syscall.ECONNRESET), "read tcp 10.0.0.2:80: connection reset by peer"},
		{"IPv6", errors.New("read tcp [::1]:40112->[::1]:80: EOF"), "read tcp [::1]:80: EOF"},
		{"in a resolver's text", &net.DNSError{Err: "read udp 10.0.0.1:5353->10.0.0.2:53: i/o timeout", Name: "a.test"},
			"lookup a.test: read udp 10.0.0.2:53: i/o timeout"},
		{"twice", errors.New("a 1.1.1.1:1->2.2.2.2:2 b 3.3.3.3:3->4.4.4.4:4"), "a 2.2.2.2:2 b 4.4.4.4:4"},
		{"an arrow of another kind", errors.New("a->b 1->2"), "a->b 1->2"},
		{"time of day", x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time 2026-11-21 is after"},
			"x509: certificate has expired or is not yet valid"},
		{"a stream", errors.New("stream error: stream ID 101; INTERNAL_ERROR; received from peer"), "stream error: stream; INTERNAL_ERROR; received from peer"},
		{"long", errors.New(strings.Repeat("é", 300)), strings.Repeat("é", 100)},
	} {
		if got := Text(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
