package agentpb

import (
	"errors"
	"io"
	"time"
)

// ErrAway means that nobody is there to answer a command.
var ErrAway = errors.New("the agent does not answer")

// File is a blob that the other side fetches.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Receipt is of one delivery.
type Receipt struct {
	Bytes int
	At    time.Time // when it came
	Done  func()    // the bus may forget it; called after Committed, or for a repeated one
}
