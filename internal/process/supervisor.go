package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire"
)

// supervisor is the parent's side of one executor process, from its start to its end.
type supervisor struct {
	*Process
	ctx    context.Context
	child  *child
	tail   *tailWriter
	stream wire.Parent_AttachServer
	from   chan *wire.FromExecutor // its messages; closed when the stream ends

	asked   uint64 // number of the last request
	waiting map[uint64]chan error
}

// run follows the executor from its start to its last batch, and returns as Run does; the
// caller ends the process.
func (s *supervisor) run(srv *server) error {
	limit := time.NewTimer(s.spec.Times.Start)
	defer limit.Stop()
	select {
	case a := <-srv.attached:
		defer a.end()
		s.stream, s.from = a.stream, a.messages(srv.done)
	case <-s.child.done:
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
	ready, err := s.next(nil) // there is no limit for a scenario's Setup
	if err != nil {
		return err
	}
	if ready.GetReady() == nil {
		return fmt.Errorf("the executor sent a %T, want ready", ready.GetMessage())
	}
	if text := ready.GetReady().Error; text != "" {
		return fmt.Errorf("%w: %s", ErrScenario, text)
	}
	close(s.ready)
	if err := s.begin(); err != nil {
		return err
	}
	if s.spec.Started != nil {
		s.spec.Started()
	}
	return s.load(time.Duration(start.GracefulNs))
}

// greet checks the executor's hello, passes it on and returns the start to answer it with:
// that of Spec.Plan, or of Arm, for which it waits. The error is that of the check, wraps
// ErrScenario, is that of Spec's function, or is about the earlier end of the executor or the
// run.
func (s *supervisor) greet(h *wire.Hello) (*wire.Start, error) {
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
	s.hello = h
	close(s.greeted)
	if s.spec.Plan != nil {
		return s.spec.Plan(h)
	}
	return wait(s, s.armed, func(a arming) *wire.Start { return a.start })
}

// begin starts the load: at once if there is a Plan, else at the time that Begin sets, for
// which it waits. It returns the error of wait, or a *DeadError if the command cannot be sent.
func (s *supervisor) begin() error {
	b := beginning{reply: make(chan error, 1)}
	if s.spec.Plan == nil {
		var err error
		if b, err = wait(s, s.begun, func(b beginning) beginning { return b }); err != nil {
			return err
		}
		moment := make(chan struct{})
		timer := time.AfterFunc(time.Until(b.at), func() { close(moment) })
		defer timer.Stop()
		if _, err := wait(s, moment, func(struct{}) bool { return true }); err != nil {
			return err
		}
	}
	if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Go{Go: &wire.Go{LeaseNs: int64(b.lease)}}}); err != nil {
		return s.died()
	}
	b.reply <- nil
	return nil
}

// wait receives from c, before the load, and returns f of it. Until then it passes on what the
// executor reports in detail; another message is an error. If something ends first, it returns
// a *DeadError for the executor, ErrCancelled after Stop or Cancel, and the error of ctx.
func wait[A, B any](s *supervisor, c <-chan A, f func(A) B) (none B, err error) {
	for {
		select {
		case a := <-c:
			return f(a), nil
		case m, ok := <-s.from:
			switch {
			case !ok:
				return none, s.died()
			case m.GetSeen() == nil:
				return none, fmt.Errorf("the executor sent a %T before its load", m.GetMessage())
			}
			s.seen(m.GetSeen())
		case <-s.cancel:
			return none, ErrCancelled
		case <-s.stop:
			return none, ErrCancelled
		case <-s.ctx.Done():
			return none, s.ctx.Err()
		}
	}
}

// next returns the executor's next message before the load, except those for Spec.Seen, which
// it passes on. If limit comes first, it kills the executor and returns a *DeadError; nil
// means no limit. Other errors are those of wait when something ends first.
func (s *supervisor) next(limit <-chan time.Time) (*wire.FromExecutor, error) {
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

// load receives batches until the last one, and sends stop, cancel and requests. graceful is
// the graceful time of the start; when the executor stops, it may ask for more. It returns nil after the last batch, and otherwise a
// *DeadError, or the error of Spec.Batch or ctx.
func (s *supervisor) load(graceful time.Duration) error {
	stop, cancel := s.stop, s.cancel
	var deadline time.Time // the earlier one of Stop and Cancel
	var overdue <-chan time.Time
	limit := func(d time.Duration) {
		if at := time.Now().Add(d); overdue == nil || at.Before(deadline) {
			deadline, overdue = at, time.After(d)
		}
	}
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
			if more := time.Duration(m.GetStopping().GetLimitNs()); more > graceful {
				graceful = more
				if overdue != nil && cancel != nil {
					deadline, overdue = time.Now().Add(graceful+s.spec.Times.Stop), time.After(graceful+s.spec.Times.Stop)
				}
			}
		case f := <-s.requests:
			f(s)
		case <-s.renewed:
			renew := &wire.Renew{LeaseNs: s.lease.Load()}
			_ = s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Renew{Renew: renew}}) // if it fails, the stream's end is noticed above
		case <-stop:
			stop = nil
			if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Stop{Stop: &wire.Stop{}}}); err == nil {
				limit(graceful + s.spec.Times.Stop)
			}
		case <-cancel:
			cancel = nil
			if err := s.send(&wire.ToExecutor{Message: &wire.ToExecutor_Cancel{Cancel: &wire.Cancel{}}}); err == nil {
				limit(s.spec.Times.Cancel)
			}
		case <-overdue:
			s.child.kill()
			return &DeadError{How: "did not stop in time and was killed", Cause: CauseStuck, Output: s.tail.Bytes()}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// take passes a message to its receiver and reports whether it was the last batch. The error
// wraps that of Spec.Batch. Messages that no one receives are ignored.
func (s *supervisor) take(m *wire.FromExecutor) (last bool, err error) {
	switch {
	case m.GetStopping() != nil:
		s.signal = m.GetStopping().Signal
		if s.spec.Stopping != nil {
			s.spec.Stopping(time.Duration(m.GetStopping().LimitNs))
		}
	case m.GetSeen() != nil:
		s.seen(m.GetSeen())
	case m.GetControlled() != nil:
		s.answered(m.GetControlled().Id, m.GetControlled().Error)
	case m.GetProfiled() != nil:
		s.answered(m.GetProfiled().Id, m.GetProfiled().Error)
	case m.GetBatch() != nil:
		b := m.GetBatch()
		if err := s.spec.Batch(b); err != nil {
			return false, fmt.Errorf("batch %d: %w", b.Seq, err)
		}
		return b.Final != nil, nil
	}
	return false, nil
}

// seen passes a detailed report to its receiver.
func (s *supervisor) seen(m *wire.Seen) {
	if s.spec.Seen != nil {
		s.spec.Seen(m)
	}
}

// ask sends a request; answered sends its answer to reply, which must have room for one. If
// sending fails, ask sends that error to reply.
func (s *supervisor) ask(request func(id uint64) *wire.ToExecutor, reply chan error) {
	s.asked++
	if err := s.send(request(s.asked)); err != nil {
		reply <- err
		return
	}
	if s.waiting == nil {
		s.waiting = map[uint64]chan error{}
	}
	s.waiting[s.asked] = reply
}

// answered sends the answer to request id to the call of ask that waits for it, if any; text
// is the executor's reason for a refusal, or empty.
func (s *supervisor) answered(id uint64, text string) {
	reply, ok := s.waiting[id]
	if !ok {
		return // to no request of ours
	}
	delete(s.waiting, id)
	if text != "" {
		reply <- errors.New(text)
		return
	}
	reply <- nil
}

func (s *supervisor) send(m *wire.ToExecutor) error { return s.stream.Send(m) }

// died waits for the process, whose stream has ended, and returns how it ended, as a
// *DeadError. After Times.Exit it kills the process.
func (s *supervisor) died() error {
	if !s.child.wait(s.spec.Times.Exit) {
		s.child.kill()
		return &DeadError{How: "closed its connection before its last batch and was killed", Cause: CauseStuck, Output: s.tail.Bytes()}
	}
	how, cause := s.child.how()
	return &DeadError{How: how, Cause: cause, Output: s.tail.Bytes()}
}

// noHello kills the executor, whose hello did not come in time, and returns a *DeadError.
func (s *supervisor) noHello() error {
	s.child.kill()
	return &DeadError{
		How:    fmt.Sprintf("did not say hello in %v and was killed: does an init function, a package variable or export() never return?", s.spec.Times.Start),
		Cause:  CauseStuck,
		Output: s.tail.Bytes(),
	}
}

// attachment is an executor's stream, kept open until end is called.
type attachment struct {
	stream wire.Parent_AttachServer
	over   chan struct{}
}

// end closes the stream from this side.
func (a *attachment) end() { close(a.over) }

// messages returns the channel of the stream's messages. It is closed when the stream, the
// attachment or the server (done) ends. The caller must receive until then or call end.
func (a *attachment) messages(done <-chan struct{}) chan *wire.FromExecutor {
	ms := make(chan *wire.FromExecutor)
	go func() {
		defer close(ms)
		for {
			m, err := a.stream.Recv()
			if err != nil { // also at the end
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
