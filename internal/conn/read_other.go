//go:build !unix

package conn

// Elsewhere connections are read the plain way and own a buffer while they wait.
const canReadRaw = false

func (c *Conn) readRaw(uintptr) bool { return true }

// Gone reports that an idle connection can't be used again. It is not known here.
func (c *Conn) Gone() bool { return false }
