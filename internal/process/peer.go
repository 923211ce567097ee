package process

import (
	"net"
	"sync"
)

// peerListener accepts connections of one process only, whose socket's path others may
// have found: the executor's. It is told later which one that is.
type peerListener struct {
	net.Listener
	known  chan struct{} // closed once pid and uid are
	closed chan struct{}
	pid    int
	uid    int
	once   sync.Once
}

func newPeerListener(l net.Listener) *peerListener {
	return &peerListener{Listener: l, known: make(chan struct{}), closed: make(chan struct{})}
}

func (l *peerListener) expect(pid, uid int) {
	l.pid, l.uid = pid, uid
	close(l.known)
}

// Accept gives the next connection of the process that is expected. Others are closed.
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
