package conn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Class is a kind of failure, as metrics count it.
type Class uint8

const (
	Other     Class = iota // none of those below, as a network without a route
	Refused                // nobody listens there
	Reset                  // the other side broke the connection off
	Timeout                // no connection or no complete answer in time
	DNS                    // the name could not be looked up
	TLS                    // no secure connection: certificate, version, garbage
	EOF                    // the other side closed before its answer was complete
	TooLarge               // the answer is larger than may be kept
	Protocol               // the answer breaks the protocol's rules
	LocalFD                // this host has no file descriptor left; not the target's fault
	LocalPort              // this host has no port left; not the target's fault
	ByProxy                // the proxy can't be reached, refuses, or has no way to the target
	Blocked                // the run may not connect there; not the target's fault
	Canceled               // the run, or the caller's context, ended it; no failure
)

// Classes is how many there are: they go from 0 to Classes-1.
const Classes = int(Canceled) + 1

var classes = [Classes]string{"other", "refused", "reset", "timeout", "dns", "tls", "eof",
	"too_large", "protocol", "local_fd", "local_port", "proxy", "blocked", "canceled"}

// String gives the word used in metric titles.
func (c Class) String() string { return classes[c] }

// Local reports whether the fault is this host's or the run's own, never to be blamed on
// the target.
func (c Class) Local() bool { return c == LocalFD || c == LocalPort || c == Blocked }

// Error is an error whose class can't be told from what caused it. A client makes
// one for each way in which an answer can break its protocol.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Classify gives the class of an error of this package, of net, crypto/tls or of a
// context.
func Classify(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) {
		return Canceled
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if c := classOf(errno); c != Other {
			return c
		}
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if strings.Contains(e.Err, syscall.EMFILE.Error()) || strings.Contains(e.Err, syscall.ENFILE.Error()) {
			return LocalFD // the resolver keeps the text only
		}
		return DNS
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return Timeout
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return Timeout
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return EOF
	}
	if isTLS(err) {
		return TLS
	}
	return Other
}

// isTLS knows the errors that crypto/tls has types for. The others get their class
// where they appear, in Conn.
func isTLS(err error) bool {
	return is[tls.RecordHeaderError](err) || is[tls.AlertError](err) ||
		is[*tls.CertificateVerificationError](err) || is[*tls.ECHRejectionError](err) ||
		is[x509.UnknownAuthorityError](err) || is[x509.CertificateInvalidError](err) ||
		is[x509.HostnameError](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
