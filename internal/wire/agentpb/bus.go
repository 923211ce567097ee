package agentpb

import (
	"errors"
	"io"
	"time"
)

// ErrNotConnected means that an agent is not connected, so that no answer to a command will
// come. It may have received the command before.
var ErrNotConnected = errors.New("the agent does not answer")

// MaxDelivery is the size of the largest delivery, encoded, in bytes. The difference to
// NATS's largest message, 1 MiB, is reserved for headers.
const MaxDelivery = 1<<20 - 4096

// File is a blob that the other side fetches.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Receipt is the receipt of one delivery.
type Receipt struct {
	Bytes int
	At    time.Time // when it came
	Done  func()    // lets the bus delete it; called after Committed, or for a repeated delivery
}
