package servers

import "net"

// freePorts returns n free ports of 127.0.0.1. Another process may take one before it is
// used.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all are open until the last is known
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
