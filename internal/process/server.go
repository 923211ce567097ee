package process

import (
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gobench-io/gobench/internal/wire"
)

// socketEnv names the environment variable with the socket's path. It equals
// executor.SocketEnv; this package must not import package executor.
const socketEnv = "GOBENCH_SOCKET"

// server serves one executor's socket.
type server struct {
	wire.UnimplementedParentServer
	path     string
	grpc     *grpc.Server
	attached chan *attachment
	done     chan struct{} // closed by close
	listener *peerListener

	once sync.Once // one executor attaches
	wg   sync.WaitGroup
}

// privateDir creates a directory that only this user can enter and returns its path; the
// caller must remove it. The path of a Unix socket has little more than 100 bytes, so a long
// TMPDIR is not used.
func privateDir() (string, error) {
	base := os.TempDir()
	if len(base) > 60 {
		base = "/tmp"
	}
	return os.MkdirTemp(base, "gobench-") // 0700
}

// serve listens at path, where no file may exist and which only the user owner may open; 0
// means this process's user. It accepts connections after expect. The caller must call close.
// After an error there is no socket.
func serve(path string, owner int) (*server, error) {
	s := &server{path: path, attached: make(chan *attachment, 1), done: make(chan struct{})}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(s.path, 0o600); err == nil && owner != 0 {
		err = os.Chown(s.path, owner, -1)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	s.listener = newPeerListener(l)
	s.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))
	wire.RegisterParentServer(s.grpc, s)
	s.wg.Go(func() { _ = s.grpc.Serve(s.listener) }) // ends by close
	return s, nil
}

// expect sets which process of which user may attach. Until then connections wait.
func (s *server) expect(pid, uid int) { s.listener.expect(pid, uid) }

// Attach passes the executor's stream to the supervisor and keeps it open until the
// supervisor, the server or the stream ends. A second executor gets an error.
func (s *server) Attach(stream wire.Parent_AttachServer) error {
	a := &attachment{stream: stream, over: make(chan struct{})}
	first := false
	s.once.Do(func() { first = true })
	if !first {
		return status.Error(codes.AlreadyExists, "an executor is attached already")
	}
	s.attached <- a
	select {
	case <-a.over:
	case <-s.done:
	case <-stream.Context().Done():
	}
	return nil
}

// close ends the stream, waits until the executor has read that, and stops serving. It must be
// called once.
func (s *server) close() {
	close(s.done)
	s.grpc.GracefulStop()
	s.wg.Wait()
}
