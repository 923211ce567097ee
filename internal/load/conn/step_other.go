//go:build !unix

package conn

// On other systems package net reads and writes connections, and each owns a buffer while
// it waits.
const canReadRaw = false

func (c *Conn) readRaw(uintptr) bool  { return true }
func (c *Conn) writeRaw(uintptr) bool { return true }

// Gone always returns false: it is not implemented on this system.
func (c *Conn) Gone() bool { return false }
