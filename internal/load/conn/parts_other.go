//go:build !linux

package conn

import "net"

// writeParts writes all of the parts, by package net.
func (c *Conn) writeParts(parts net.Buffers) (int64, error) { return parts.WriteTo(c.tcp) }
