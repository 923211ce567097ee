package bus

import (
	"crypto/rand"
	"sync"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// window is how many of a session's newest commands are remembered. The master sends about
// two a second.
const window = 1024

// session is what an agent knows of the commands that came, so that none is done twice.
type session struct {
	id string

	mu   sync.Mutex
	high uint64            // the highest number
	ids  map[uint64]string // command by number, of the window
	done map[string]*command
}

// command is one that came, perhaps more than once.
type command struct {
	last   uint64 // the highest number it came with
	over   chan struct{}
	answer *agentpb.Answer // once over is closed
}

func newSession() *session {
	return &session{id: rand.Text(), ids: map[uint64]string{}, done: map[string]*command{}}
}

// take notes that a command came with a number. first says that it is to be done: its
// answer is then given to finish. ok is false when the number is too old or belongs to another
// command: that is a replay, or of a master that does not know the session's state.
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

// forget drops a number, and its command if it came with no later one.
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

// newest gives the highest number.
func (s *session) newest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.high
}

// finish keeps a command's answer for whoever asks again.
func (c *command) finish(a *agentpb.Answer) {
	c.answer = a
	close(c.over)
}
