package process

import (
	"net"
	"sync"
)

// peerListener accepts connections from one process only, the executor, since others may
// have found the socket's path. The process is set by expect, after its start.
type peerListener struct {
	net.Listener
	known  chan struct{} // closed once pid and uid are set
	closed chan struct{}
	pid    int
	uid    int
	once   sync.Once
}

// newPeerListener returns a listener that accepts nothing until expect is called. Its Close
// closes l.
func newPeerListener(l net.Listener) *peerListener {
	return &peerListener{Listener: l, known: make(chan struct{}), closed: make(chan struct{})}
}

// expect sets the process and the user that may connect. It must be called once.
func (l *peerListener) expect(pid, uid int) {
	l.pid, l.uid = pid, uid
	close(l.known)
}

// Accept waits for expect and returns the next connection of the expected process. It closes
// all others. After Close it returns an error, also while it waits for expect.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case <-l.known:
		case <-l.closed:
			c.Close()
			return nil, net.ErrClosed
		}
		if samePeer(c, l.pid, l.uid) {
			return c, nil
		}
		c.Close()
	}
}

func (l *peerListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
