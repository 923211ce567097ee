package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/load/profile"
	"github.com/gobench-io/gobench/internal/load/runner"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire"
)

// flushLimit limits the wait for the parent to accept the last batch.
const flushLimit = 10 * time.Second

// signalGrace is how long after a signal the parent, which may have received it too, may stop
// the load itself.
const signalGrace = 500 * time.Millisecond

// attach connects to the parent, runs the executor's part of the run and returns nil when the
// parent has accepted the last batch, or has ended the stream before the load began. SIGTERM
// and SIGINT stop the load (see heed) and do not end the process. attach returns an error if the run could not start, if the parent is gone,
// or if it does not accept the last batch in 10 s. It then does not wait for the users: the
// caller must exit. It may be called only once in a process.
func attach(socket string, vus scenario.Vus, thresholds []string, r *meter.Registry) error {
	conn, err := grpc.NewClient("unix:"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// The stream outlives a cancel: the last batch goes through it.
	stream, err := wire.NewParentClient(conn).Attach(context.Background())
	if err != nil {
		return fmt.Errorf("attach to %s: %w", socket, err)
	}
	s := &session{stream: stream, signals: signals, thresholds: thresholds, profiles: profile.NewTaker(), ledgers: os.Getenv(ledgerEnv)}
	os.Unsetenv(ledgerEnv)
	return s.run(ctx, cancel, vus, r)
}

// session is the executor's side of the stream. Its run is called once; only send may be
// called by several goroutines at once.
type session struct {
	stream     wire.Parent_AttachClient
	thresholds []string
	mu         sync.Mutex // held while sending
	log        *logger    // nil: lines are not requested
	lease      lease
	signals    <-chan os.Signal
	profiles   *profile.Taker // takes the profiles that are requested during the load
	ledgers    string         // folder for the ledger; "": no ledger
	ledger     *ledger
	summary    *summary // nil if the scenario has no function done
}

// send sends m to the parent. It may block while the parent does not read. An error means that
// the stream has ended.
func (s *session) send(m *wire.FromExecutor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.Send(m)
}

// run does the work of attach on an open stream: it reports the scenario (Hello), waits for
// the start, prepares the load, waits for Go and runs the load. Where it can, it reports an
// error to the parent as well as returning it. It returns nil if the parent ends the stream
// before the load began. cancel ends ctx, which does not end the waits for the parent; a
// Cancel message calls it.
func (s *session) run(ctx context.Context, cancel func(), vus scenario.Vus, r *meter.Registry) error {
	classes, refused := runner.Check(vus)
	hello := &wire.Hello{Protocol: wire.Protocol, Version: version.Version, Go: runtime.Version(), Pid: int64(os.Getpid()), Classes: classes, Once: data.Once(), Metrics: runner.Known(vus, classes, r)}
	for _, t := range s.thresholds {
		hello.Thresholds = append(hello.Thresholds, strings.ToValidUTF8(t, "\uFFFD")) // a valid expression is not changed by this
	}
	if refused != nil {
		hello.Error = refused.Error()
	}
	for _, p := range scenario.Params() {
		hello.Params = append(hello.Params, &wire.Param{Name: p.Name, Default: p.Default, Help: p.Help, Value: p.Value, Given: p.Given})
	}
	if err := s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Hello{Hello: hello}}); err != nil {
		return err
	}
	first, err := s.stream.Recv()
	if errors.Is(err, io.EOF) || refused != nil {
		return refused // the parent has received the reason
	}
	if err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	start := first.GetStart()
	if start == nil {
		return fmt.Errorf("the parent's first message is a %T, want a start", first.GetMessage())
	}
	if done != nil {
		s.summary = newSummary(start)
	}
	s.look(start, r)
	defer s.log.close()
	run, err := runner.New(vus, classes, start, r)
	if err != nil {
		return s.ready(err)
	}
	// From here on the parent may stop or cancel at any time, and the load ends if the parent
	// does.
	began := make(chan time.Duration, 1) // the length of the lease
	gone := make(chan error, 1)
	go func() { gone <- s.obey(run, began, cancel) }()
	known, _ := meter.With(ctx, r, nil, [2]uint64{})
	if s.ledger, err = openLedger(s.ledgers, start); err != nil {
		return s.ready(err)
	}
	defer s.ledger.close()
	err = data.Prepare(known)
	if err == nil {
		err = run.Prepare(ctx)
	}
	profiles := new(profile.Set)
	if err == nil {
		profiles, err = profile.Begin(start.Profiles)
	}
	if err != nil {
		s.log.close()
	}
	if err := s.ready(err); err != nil {
		return err
	}
	select {
	case term := <-began:
		s.lease.begin(term, func(why string) {
			run.Note(why)
			run.Stop()
		})
		defer s.lease.close()
	case err := <-gone:
		return errors.Join(err, profiles.End())
	}
	if err = s.load(ctx, run, profiles, gone); err == nil {
		s.conclude(ctx)
	}
	return err
}

// look enables what start requests. With Once, exchanges and remarks are sent as they happen,
// up to wire.MaxSeen and wire.MaxRemarks. With Verbose, log lines are sent; it then sets
// s.log, which the caller must close.
func (s *session) look(start *wire.Start, r *meter.Registry) {
	show := func(text string, log bool) {
		seen := &wire.Seen{Text: text, Log: log}
		_ = s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Seen{Seen: seen}}) // a lost parent is handled elsewhere
	}
	if start.Once {
		r.Watch(wire.MaxSeen, wire.MaxRemarks, func(text string) { show(text, false) })
	}
	if start.Verbose {
		s.log = newLogger(func(lines string) { show(lines, true) })
		r.OnLog(s.log.add)
	}
}

// ready reports to the parent that set-up is done, or its error. It returns err, or the error
// of sending.
func (s *session) ready(err error) error {
	ready := new(wire.Ready)
	if err != nil {
		ready.Error = err.Error()
	}
	if sent := s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Ready{Ready: ready}}); sent != nil {
		return sent
	}
	return err
}

// obey handles the parent's messages until the stream ends. It returns nil if the parent ended
// the stream, and an error if the parent is gone. The first Go sends its lease to began, which
// needs room for one; Cancel calls cancel.
func (s *session) obey(run *runner.Runner, began chan<- time.Duration, cancel func()) error {
	for {
		m, err := s.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the process that started this executor is gone: %w", err)
		case m.GetGo() != nil:
			select {
			case began <- time.Duration(m.GetGo().LeaseNs):
			default: // the load has already begun
			}
		case m.GetRenew() != nil:
			s.lease.renew(time.Duration(m.GetRenew().LeaseNs))
		case m.GetStop() != nil:
			run.Stop()
		case m.GetCancel() != nil:
			cancel()
		case m.GetControl() != nil:
			done := &wire.Controlled{Id: m.GetControl().Id}
			if err := run.Control(m.GetControl()); err != nil {
				done.Error = err.Error()
			}
			_ = s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Controlled{Controlled: done}}) // a lost parent is handled above
		case m.GetProfile() != nil:
			p := m.GetProfile()
			s.profiles.Take(p, func(err error) {
				done := &wire.Profiled{Id: p.Id}
				if err != nil {
					done.Error = err.Error()
				}
				_ = s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Profiled{Profiled: done}}) // a lost parent is handled above
			})
		}
	}
}

// load runs the users of a prepared run and sends what they record. Call it once. It returns
// nil when the parent has accepted the last batch and ended the stream, and an error if it
// does not do so in 10 s. The end of ctx cancels the run and is not an error. gone receives the
// result of obey. If the parent is gone, or the stream has ended after a failed batch, load
// returns an error and does not wait for the users, since the process then exits.
func (s *session) load(ctx context.Context, run *runner.Runner, profiles *profile.Set, gone <-chan error) error {
	done := make(chan struct{})
	run.Drained = func() {
		profiles.LoadOver()
		s.profiles.End()
	}
	go runner.FitProcs(done, run.Log)
	var why atomic.Value // the signal that stopped the load
	go s.heed(done, func(signal string) {
		why.Store(signal)
		run.Stop()
	})
	began := time.Now()
	go func() {
		defer close(done)
		run.Run(ctx, func(limit time.Duration) {
			stopping := &wire.Stopping{LimitNs: int64(limit)}
			stopping.Signal, _ = why.Load().(string)
			_ = s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Stopping{Stopping: stopping}}) // a lost parent is handled below
		})
		s.profiles.End() // also if there was nothing to drain
		if err := profiles.End(); err != nil {
			run.Note("not all profiles are complete: " + err.Error())
		}
		s.log.close()
	}()
	sent := make(chan error, 1)
	var last atomic.Bool // the last batch was sent, or is about to be
	go func() {
		sent <- run.Report(began, done, func(b *wire.Batch) error {
			s.summarize(b)
			s.ledger.add(b)
			last.Store(b.Final != nil)
			return s.send(&wire.FromExecutor{Message: &wire.FromExecutor_Batch{Batch: b}})
		})
	}()
	select {
	case err := <-gone:
		if err == nil && last.Load() {
			return nil // the parent ended the stream before Report returned
		}
		return orElse(err, errors.New("the parent ended the run before its last batch"))
	case err := <-sent:
		if err != nil {
			return orElse(<-gone, err)
		}
	}
	if err := s.stream.CloseSend(); err != nil {
		return err
	}
	select {
	case err := <-gone:
		return err
	case <-time.After(flushLimit):
		return fmt.Errorf("the last batch was not taken in %v", flushLimit)
	}
}

// summarize adds a batch to the scenario's summary. What goes wrong becomes a note of the batch.
func (s *session) summarize(b *wire.Batch) {
	if s.summary == nil {
		return
	}
	if err := s.summary.add(b); err != nil {
		b.Notes = append(b.Notes, err.Error())
	}
}

// conclude calls the scenario's function done, after the parent has accepted the last batch, so
// that nothing which done does can cost it; not if the run was cancelled. What goes wrong is
// printed.
func (s *session) conclude(ctx context.Context) {
	if s.summary == nil || ctx.Err() != nil {
		return
	}
	if problem := call(done, s.summary.of()); problem != "" {
		fmt.Fprintln(os.Stderr, "gobench executor:", problem)
	}
}

// heed calls stop with the name of the first signal that the process has received, also before
// the load, but signalGrace later. It returns when stop has returned or done is closed.
func (s *session) heed(done <-chan struct{}, stop func(signal string)) {
	name := "SIGTERM"
	select {
	case received := <-s.signals:
		if received == os.Interrupt {
			name = "SIGINT"
		}
	case <-done:
		return
	}
	select {
	case <-time.After(signalGrace):
		stop(name)
	case <-done:
	}
}

// orElse returns err, or other if err is nil.
func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
