//go:build !unix

package conn

// Elsewhere connections are read and written by package net, and own a buffer while
// they wait.
const canReadRaw = false

func (c *Conn) readRaw(uintptr) bool  { return true }
func (c *Conn) writeRaw(uintptr) bool { return true }

// Gone reports that a connection that was idle can't be used again. It is not known
// here.
func (c *Conn) Gone() bool { return false }
