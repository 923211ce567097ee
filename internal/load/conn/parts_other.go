//go:build !linux

package conn

import "net"

// writeParts writes the parts whole, by package net.
func (c *Conn) writeParts(parts net.Buffers) (int64, error) { return parts.WriteTo(c.tcp) }
