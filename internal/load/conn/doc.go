// Package conn has the connections of all stream clients: dialing, buffered reading without
// idle buffers, time limits, and the classes of failures.
//
// # Opening a connection
//
// A client creates a [Dialer] from its user's [Options] with [NewDialer], or uses the zero
// Dialer, and calls [Dialer.Dial]. [Conn.Handshake] adds TLS, configured by [TLSOptions]. [New]
// wraps an existing net.Conn. [ParseProxy] and [Dialer.Through] serve clients that choose a
// proxy per target; [Dialer.DialProxy] serves clients whose protocol sends the target to the
// proxy.
//
// # Operations
//
// An operation is one request and its answer. Around it a client calls
//
//	c.Arm(start, timeout)         // the time limit, on the clock of Now
//	err := c.Begin(ctx)           // from here on the end of ctx ends all waiting
//	...                           // write, read
//	ok := c.End()                 // false: ctx ended it; Drop the connection
//
// Begin and End are needed only if ctx is not the one that the client itself watches.
// [Conn.Rearm] moves the limit within an operation, [Conn.Disarm] removes it.
//
// Writing: [Conn.Write] and [Conn.WriteParts]. [Conn.Ask] and [Conn.AskIdle] write a request
// and wait for its answer with fewer system calls; [Conn.ArmAsk] is their Arm.
//
// Reading: [Conn.Fill] waits for bytes, [Conn.Unread] returns all that have arrived,
// [Conn.Take] consumes them; [Conn.Read] copies. A connection without unread bytes has no
// buffer, so an idle connection costs its socket and the Conn struct.
//
// # Errors
//
// [Classify] returns the [Class] of any error of this package, of net, of crypto/tls or of a
// context; metrics count failures by class. A client returns an [Error] for failures that only
// its protocol can detect, such as a malformed answer. [Text] returns an error's text without
// the parts that differ each time, so that equal failures can be counted together.
//
// # Closing
//
// The caller of Dial or New must close the Conn once: with [Conn.Close] after a success, with
// [Conn.Drop] after a failure. [Conn.Abort] interrupts its user from another goroutine; the
// user must still call Drop. Dialers, options and proxies need not be closed.
package conn
