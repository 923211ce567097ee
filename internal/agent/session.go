package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gobench-io/gobench/internal/version"
	"github.com/gobench-io/gobench/internal/wire"
)

// session is the parent's side of one executor's life.
type session struct {
	*Executor
	ctx    context.Context
	proc   *process
	tail   *tailWriter
	stream wire.Parent_AttachServer
	from   chan *wire.FromExecutor // its messages; closed when the stream ends

	asked   uint64 // controls sent so far
	waiting map[uint64]chan error
}

// run follows the executor from its start to its end.
func (s *session) run(srv *server) error {
	limit := time.NewTimer(s.spec.StartLimit)
	defer limit.Stop()
	select {
	case a := <-srv.attached:
		defer a.end()
		s.stream, s.from = a.stream, a.messages(srv.done)
	case <-s.proc.done:
		return s.died()
	case <-limit.C:
		return s.noHello()
	case <-s.cancel:
		return ErrCancelled
	case <-s.stop:
		return ErrCancelled
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	hello, err := s.next(limit.C)
	if err != nil {
		return err
	}
	start, err := s.greet(hello.GetHello())
	if err != nil {
		return err
	}
	if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Start{Start: start}}); err != nil {
		return s.died()
	}
	ready, err := s.next(nil) // a scenario's Setup takes what it takes
	if err != nil {
		return err
	}
	if ready.GetReady() == nil {
		return fmt.Errorf("the executor sent a %T, want ready", ready.GetMessage())
	}
	if text := ready.GetReady().Error; text != "" {
		return fmt.Errorf("%w: %s", ErrScenario, text)
	}
	if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Go{Go: &wire.Go{}}}); err != nil {
		return s.died()
	}
	if s.spec.Started != nil {
		s.spec.Started()
	}
	return s.load(time.Duration(start.GracefulNs))
}

// greet answers the executor's hello with its start.
func (s *session) greet(h *wire.Hello) (*wire.Start, error) {
	switch {
	case h == nil:
		return nil, errors.New("the executor did not say hello")
	case h.Protocol != wire.Protocol:
		return nil, fmt.Errorf("the executor speaks protocol %d (gobench %s), this gobench %s speaks %d: compile the scenario again",
			h.Protocol, h.Version, version.Version, wire.Protocol)
	}
	if s.spec.Hello != nil {
		if err := s.spec.Hello(h); err != nil {
			return nil, err
		}
	}
	if h.Error != "" {
		return nil, fmt.Errorf("%w: %s", ErrScenario, h.Error)
	}
	return s.spec.Plan(h)
}

// next gives the executor's next message before the load, while limit is not reached.
func (s *session) next(limit <-chan time.Time) (*wire.FromExecutor, error) {
	select {
	case m, ok := <-s.from:
		if !ok {
			return nil, s.died()
		}
		if m.GetSeen() != nil {
			s.seen(m.GetSeen())
			return s.next(limit)
		}
		return m, nil
	case <-limit:
		return nil, s.noHello()
	case <-s.cancel:
		return nil, ErrCancelled
	case <-s.stop:
		return nil, ErrCancelled
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// load takes batches until the last one, and passes stop and cancel on.
func (s *session) load(graceful time.Duration) error {
	stop, cancel := s.stop, s.cancel
	var overdue <-chan time.Time
	for {
		select {
		case m, ok := <-s.from:
			if !ok {
				return s.died()
			}
			last, err := s.take(m)
			if err != nil || last {
				return err
			}
		case c := <-s.controls:
			s.control(c)
		case <-stop:
			stop = nil
			if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Stop{Stop: &wire.Stop{}}}); err == nil {
				overdue = time.After(graceful + stopReserve)
			}
		case <-cancel:
			cancel = nil
			if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Cancel{Cancel: &wire.Cancel{}}}); err == nil {
				overdue = time.After(cancelLimit)
			}
		case <-overdue:
			s.proc.kill()
			return &DeadError{How: "did not stop in time and was killed", Output: s.tail.Bytes()}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// take hands a message on. After the last batch it lets the executor go and waits
// for its end.
func (s *session) take(m *wire.FromExecutor) (last bool, err error) {
	switch {
	case m.GetStopping() != nil:
		if s.spec.Stopping != nil {
			s.spec.Stopping()
		}
	case m.GetSeen() != nil:
		s.seen(m.GetSeen())
	case m.GetControlled() != nil:
		s.controlled(m.GetControlled())
	case m.GetBatch() != nil:
		b := m.GetBatch()
		if err := s.spec.Batch(b); err != nil {
			return false, fmt.Errorf("batch %d: %w", b.Seq, err)
		}
		return b.Final != nil, nil
	}
	return false, nil
}

// seen passes on what a look inside shows.
func (s *session) seen(m *wire.Seen) {
	if s.spec.Seen != nil {
		s.spec.Seen(m)
	}
}

// control passes a change on; controlled gives its answer back.
func (s *session) control(c control) {
	s.asked++
	c.message.Id = s.asked
	if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Control{Control: c.message}}); err != nil {
		c.reply <- err
		return
	}
	if s.waiting == nil {
		s.waiting = map[uint64]chan error{}
	}
	s.waiting[s.asked] = c.reply
}

func (s *session) controlled(m *wire.Controlled) {
	reply, ok := s.waiting[m.Id]
	if !ok {
		return // nobody asked
	}
	delete(s.waiting, m.Id)
	if m.Error != "" {
		reply <- errors.New(m.Error)
		return
	}
	reply <- nil
}

func (s *session) send(m *wire.ToExecutor) error { return s.stream.Send(m) }

// died waits for the process, whose stream has ended, and tells how it ended.
func (s *session) died() error {
	if !s.proc.wait(exitLimit) {
		s.proc.kill()
		return &DeadError{How: "closed its connection before its last batch and was killed", Output: s.tail.Bytes()}
	}
	return &DeadError{How: s.proc.how(), Output: s.tail.Bytes()}
}

func (s *session) noHello() error {
	s.proc.kill()
	return &DeadError{
		How:    fmt.Sprintf("did not say hello in %v and was killed: does an init function, a package variable or export() never return?", s.spec.StartLimit),
		Output: s.tail.Bytes(),
	}
}

// attachment is an executor's stream, held open until end.
type attachment struct {
	stream wire.Parent_AttachServer
	over   chan struct{}
}

// end closes the stream from this side.
func (a *attachment) end() { close(a.over) }

// messages receives until the stream ends or the session does.
func (a *attachment) messages(done <-chan struct{}) chan *wire.FromExecutor {
	ms := make(chan *wire.FromExecutor)
	go func() {
		defer close(ms)
		for {
			m, err := a.stream.Recv()
			if errors.Is(err, io.EOF) || err != nil {
				return
			}
			select {
			case ms <- m:
			case <-a.over:
				return
			case <-done:
				return
			}
		}
	}()
	return ms
}
