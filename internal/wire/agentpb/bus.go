package agentpb

import (
	"errors"
	"io"
	"time"
)

// ErrAway means that no agent received a command, so that no answer will come.
var ErrAway = errors.New("the agent does not answer")

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
