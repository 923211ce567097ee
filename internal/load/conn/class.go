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
	Other     Class = iota // any other, such as no route to the network
	Refused                // nothing listens at the address
	Reset                  // the other side reset the connection
	Timeout                // no connection, or no complete answer, in time
	DNS                    // the name could not be resolved
	TLS                    // the TLS handshake failed: certificate, version, malformed record
	EOF                    // the other side closed the connection before its answer was complete
	TooLarge               // the answer is larger than the client's limit
	Protocol               // the answer violates the protocol
	LocalFD                // this host has no free file descriptor; not the target's fault
	LocalPort              // this host has no free port; not the target's fault
	ByProxy                // the proxy is unreachable, refuses, or can't reach the target
	Blocked                // the run is not permitted to connect there; not the target's fault
	Canceled               // the run or the caller's context ended it; not a failure
	Lost                   // its executor ended before it did: counted for it once the run has ended, never by a client
)

// Classes is the number of classes; they are 0 to Classes-1.
const Classes = int(Lost) + 1

var classes = [Classes]string{"other", "refused", "reset", "timeout", "dns", "tls", "eof",
	"too_large", "protocol", "local_fd", "local_port", "proxy", "blocked", "canceled", "lost"}

// String returns the word for c in metric titles. It panics for c above Lost.
func (c Class) String() string { return classes[c] }

// Local reports whether the fault lies with this host or the run, and not with the target.
func (c Class) Local() bool { return c == LocalFD || c == LocalPort || c == Blocked }

// Unsent reports whether nothing was sent, as the fault lies before the network: it was met at once.
func (c Class) Unsent() bool { return c.Local() || c == DNS }

// Error is an error with an explicit class, where the cause does not imply it. A client
// defines one for each way in which an answer can violate its protocol. Its text is that of
// Err.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Classify returns the class of an error of this package, of net, crypto/tls or a context,
// also of one that wraps it; Other for errors it does not know, and for nil.
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
			return LocalFD // the resolver passes on only the text
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

// isTLS reports whether err is of one of the types that crypto/tls exports. Its other
// errors get their class where they occur, in Conn.
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
