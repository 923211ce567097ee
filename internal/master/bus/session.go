package bus

import (
	"crypto/rand"
	"sync"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// window is how many of a session's newest command numbers are stored. The master sends
// about two commands a second.
const window = 1024

// session records the commands that an agent has received, so that each is carried out once.
type session struct {
	id string

	mu   sync.Mutex
	high uint64            // the highest number
	ids  map[uint64]string // command by number, of the window
	done map[string]*command
}

// command is a received command.
type command struct {
	last   uint64 // the highest number it was received with
	over   chan struct{}
	answer *agentpb.Answer // set when over is closed
}

func newSession() *session {
	return &session{id: rand.Text(), ids: map[uint64]string{}, done: map[string]*command{}}
}

// take records a command with its number. If first is true, the caller carries c out and calls
// c.finish; otherwise, if ok is true, it is a repetition, whose answer is set once c.over is
// closed. ok is false if the number is 0, too old (see window) or belongs to another command:
// a replay, or a master that does not know the session's state. c is not for use then.
func (s *session) take(n uint64, id string) (c *command, first, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 || n+window <= s.high {
		return nil, false, false
	}
	if known, seen := s.ids[n]; seen {
		return s.done[id], false, known == id && s.done[id] != nil
	}
	if n > s.high+window {
		clear(s.ids)
		clear(s.done)
		s.high = n
	}
	for ; s.high < n; s.high++ {
		s.forget(s.high + 1 - min(s.high+1, window))
	}
	c = s.done[id]
	if c == nil {
		c = &command{over: make(chan struct{})}
		s.done[id], first = c, true
	}
	s.ids[n], c.last = id, max(c.last, n)
	return c, first, true
}

// forget drops a number, and its command unless that has a later number too. The caller must
// hold mu.
func (s *session) forget(n uint64) {
	id, ok := s.ids[n]
	if !ok {
		return
	}
	delete(s.ids, n)
	if c := s.done[id]; c != nil && c.last == n {
		delete(s.done, id)
	}
}

// newest returns the highest number.
func (s *session) newest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.high
}

// finish stores a command's answer, which must not be changed from then on, and wakes those
// that wait for it. It must be called once.
func (c *command) finish(a *agentpb.Answer) {
	c.answer = a
	close(c.over)
}
