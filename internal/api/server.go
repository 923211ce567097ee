package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options configure a Server. The zero value suits a master on a laptop.
type Options struct {
	Dir      string       // data directory; the setup token is written there
	Hosts    []string     // names that the master answers to, besides those of loopback and its own address
	TLS      *tls.Config  // nil: plain HTTP
	Insecure bool         // allow addresses that other hosts reach without TLS, or before there is a user
	UI       http.Handler // serves all paths outside the API; nil: one line of text
	Log      *slog.Logger // nil: no log

	Connections int  // most open at once; 0: 2048
	Streams     int  // most streams of events, logs and profiles at once; 0: 1024
	HashCost    Cost // of new passwords; zero: defaultCost
	Times       Times
	Now         func() time.Time // nil: time.Now

	limits sourceLimits // zero: defaultLimits
}

// Server is a master's API. New makes it, Serve serves it. Its methods may be called by
// several goroutines at once. Its handlers expect the request of ServeHTTP in their ctx, with
// a caller if their route has a role: the guard has set it.
type Server struct {
	master  Master
	store   Store
	options Options
	log     *slog.Logger
	now     func() time.Time

	mux      *http.ServeMux
	document func() []byte // OpenAPI
	scrape   http.Handler  // /metrics
	origin   *http.CrossOriginProtection
	hasher   *hasher
	attempts attempts
	setup    setup
	streams  streams
	replies  locks
	denials  denials
	encoded  encoded
	big      chan struct{} // one entry for each body above smallBody that is in memory
	archives chan struct{} // one entry for each archive that is being read

	logins      sync.Mutex // held while an existing session or token changes
	unstored    time.Time  // when stored last logged an error; guarded by logins
	userChanges sync.Mutex // held while users change, so that one admin is left
}

// New makes the API of a master. It sets the defaults of o, opens no address before Serve,
// and returns an error if m or s is nil.
func New(m Master, s Store, o Options) (*Server, error) {
	if m == nil || s == nil {
		return nil, errors.New("api: New needs a master and a store")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Connections == 0 {
		o.Connections = 2048
	}
	if o.Streams == 0 {
		o.Streams = 1024
	}
	if o.HashCost == (Cost{}) {
		o.HashCost = defaultCost
	}
	if o.limits == (sourceLimits{}) {
		o.limits = defaultLimits
	}
	o.Times = o.Times.withDefaults()
	a := &Server{
		master: m, store: s, options: o, log: o.Log, now: o.Now,
		mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(),
		hasher: newHasher(o.HashCost), big: make(chan struct{}, bigBodies), archives: make(chan struct{}, archivesAtOnce),
	}
	a.streams.most = o.Streams
	a.scrape = a.figures()
	a.register()
	return a, nil
}

// Serve answers requests on l until ctx ends. It then waits, for Times.Shutdown at most,
// until running requests have been answered; streams end at once. It returns nil then, or
// an error if requests had to be cut off; a failure of l ends it too, with that error. It
// closes l in any case, and refuses the addresses that MayListen refuses.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.MayListen(ctx, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	limited := newLimitListener(l, s.options.Connections, s.options.TLS == nil)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.options.Times.Header,
		IdleTimeout:       s.options.Times.Idle,
		MaxHeaderBytes:    60 << 10, // net/http adds 4 KiB
		ConnState:         limited.state,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		TLSConfig:         s.options.TLS,
	}
	keep, stop := context.WithCancel(ctx)
	var children sync.WaitGroup
	children.Go(func() { s.tidy(keep) })
	var ended error
	children.Go(func() {
		<-keep.Done()
		s.streams.end(func(*caller) bool { return true })
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Times.Shutdown)
		defer cancel()
		if ended = server.Shutdown(last); ended != nil {
			ended = errors.Join(fmt.Errorf("api: requests did not end in time: %w", ended), server.Close())
		}
	})
	var err error
	if s.options.TLS != nil {
		err = server.ServeTLS(limited, "", "")
	} else {
		err = server.Serve(limited)
	}
	stop()
	children.Wait()
	limited.refusals.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, ended)
}

// MayListen returns nil if the address a may be served, and else an error that says what to
// do. It may be served if other hosts do not reach it (it is of loopback or not of TCP), or
// if there is a TLS certificate and also a user, or if Options.Insecure is set. An error of
// the store is returned, too. Serve calls it.
func (s *Server) MayListen(ctx context.Context, a net.Addr) error {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() || s.options.Insecure {
		return nil
	}
	if s.options.TLS == nil {
		return fmt.Errorf("api: %s can be reached from other hosts, which would see passwords: set a certificate and its key, listen on 127.0.0.1, or allow it as insecure", a)
	}
	users, err := s.store.Users(ctx)
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	if len(users) == 0 {
		return fmt.Errorf("api: %s can be reached from other hosts and there is no user yet: set the admin's password, or listen on 127.0.0.1 for the setup", a)
	}
	return nil
}

// tidy deletes expired sessions and replies, at once and each hour, until ctx ends.
func (s *Server) tidy(ctx context.Context) {
	t := time.NewTicker(time.Hour)
	defer t.Stop()
	for {
		s.tidyOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// tidyOnce deletes expired sessions and replies. An error is only logged, unless ctx has ended.
func (s *Server) tidyOnce(ctx context.Context) {
	now := s.now()
	err := errors.Join(
		s.store.DeleteOldSessions(ctx, now.Add(-sessionIdle), now.Add(-sessionLife)),
		s.store.DeleteOldReplies(ctx, now.Add(-replyLife)),
	)
	if err != nil && ctx.Err() == nil {
		s.log.Error("expired sessions and replies could not be deleted", slog.Any("error", err))
	}
}
