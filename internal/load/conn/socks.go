package conn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// socks5 asks a SOCKS 5 proxy for a connection to addr (RFC 1928), with user and password if
// there are any (RFC 1929). A refusal is an error that begins with "socks: ". Its limits are
// those of c; ctx limits only the lookup of a service's port. On an error the caller drops c.
func (p *Proxy) socks5(ctx context.Context, c *Conn, addr string) error {
	method := byte(0) // no authentication
	if p.named {
		method = 2
	}
	if _, err := c.Write([]byte{5, 1, method}); err != nil {
		return err
	}
	var b [4]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return err
	}
	switch {
	case b[0] != 5:
		return fmt.Errorf("socks: version %d: not a SOCKS 5 proxy", b[0])
	case b[1] == 0xff && p.named:
		return errors.New("socks: the proxy takes no user and password")
	case b[1] == 0xff:
		return errors.New("socks: the proxy wants a user: socks5://USER:PASSWORD@HOST:PORT")
	case b[1] != method:
		return fmt.Errorf("socks: the proxy chose method %d, which was not offered", b[1])
	}
	if p.named {
		msg := append([]byte{1, byte(len(p.user))}, p.user...)
		msg = append(append(msg, byte(len(p.password))), p.password...)
		if _, err := c.Write(msg); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b[:2]); err != nil {
			return err
		}
		if b[1] != 0 {
			return errors.New("socks: the proxy refuses user and password")
		}
	}
	msg, err := socksRequest(ctx, addr)
	if err != nil {
		return err
	}
	if _, err := c.Write(msg); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if b[1] != 0 {
		return errors.New("socks: " + socksReply(b[1]))
	}
	return socksBound(c, b[3])
}

// socksRequest returns the message that asks for a connection to addr ("host:port"), a name or
// an address. It returns an error for a name of more than 255 bytes.
func socksRequest(ctx context.Context, addr string) ([]byte, error) {
	host, port, err := splitPort(ctx, addr)
	if err != nil {
		return nil, err
	}
	msg := []byte{5, 1, 0}
	if ip, err := netip.ParseAddr(strings.TrimSuffix(host, ".")); err == nil {
		ip = ip.Unmap()
		if ip.Is4() {
			msg = append(msg, 1)
		} else {
			msg = append(msg, 4)
		}
		msg = append(msg, ip.AsSlice()...)
	} else {
		if len(host) > 255 {
			return nil, fmt.Errorf("socks: a name of %d bytes: at most 255 can be asked for", len(host))
		}
		msg = append(append(msg, 3, byte(len(host))), host...)
	}
	return binary.BigEndian.AppendUint16(msg, port), nil
}

// socksBound reads and ignores the address that the proxy connects from; kind is its type (RFC
// 1928, section 5). It returns an error for an unknown kind, and that of reading.
func socksBound(c *Conn, kind byte) error {
	n := 0
	switch kind {
	case 1:
		n = 4
	case 4:
		n = 16
	case 3:
		var b [1]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return err
		}
		n = int(b[0])
	default:
		return fmt.Errorf("socks: the answer has an address of type %d", kind)
	}
	_, err := io.ReadFull(c, make([]byte, n+2))
	return err
}

// socksReply returns the meaning of a reply code other than 0, as a sentence about the proxy.
func socksReply(code byte) string {
	replies := [...]string{1: "general failure", 2: "not allowed by its rules", 3: "network unreachable",
		4: "host unreachable", 5: "connection refused", 6: "TTL expired", 7: "command not supported", 8: "address type not supported"}
	if int(code) < len(replies) {
		return "the proxy answers: " + replies[code]
	}
	return fmt.Sprintf("the proxy answers with code %d", code)
}
