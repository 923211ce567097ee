// Package api serves what a master can do over HTTP: JSON under /api/v1, described by
// OpenAPI, one stream of events, and who may do what. docs/http-api.md is for people who
// use it.
//
// Each request passes [Server.ServeHTTP], which checks what it is for, and the guard of
// its route, which checks who asks and what was sent; then a handler of huma's form does
// the work. Errors are problems of RFC 9457.
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

// Options are what a Server is told beside whom it speaks for. The zero value is that
// of a master on a laptop.
type Options struct {
	Dir      string       // data directory: the setup token is put there
	Hosts    []string     // names by which browsers may call the master, beside those of loopback and its own address
	TLS      *tls.Config  // nil: plain HTTP
	Insecure bool         // other hosts may reach it without TLS, or before there is a user
	UI       http.Handler // serves all paths that are not the API's; nil: a line of text
	Log      *slog.Logger // nil: none

	Connections int  // most open at once; 0: 2048
	Streams     int  // most streams of events, logs and profiles at once; 0: 1024
	HashCost    Cost // of new passwords; zero: DefaultCost
	Times       Times
	Now         func() time.Time // nil: time.Now

	limits sourceLimits // zero: defaultLimits
}

// Server is a master's API. It is made by New and served by Serve.
type Server struct {
	master  Master
	store   Store
	options Options
	log     *slog.Logger
	now     func() time.Time

	mux      *http.ServeMux
	document []byte       // OpenAPI
	scrape   http.Handler // /metrics
	origin   *http.CrossOriginProtection
	hasher   *hasher
	attempts attempts
	setup    setup
	streams  streams
	replies  locks
	denials  denials
	encoded  encoded
	big      chan struct{} // holds one for each body above smallBody that is worked on
	archives chan struct{} // holds one for each archive that is read

	logins sync.Mutex // held while a session or a token that is there is changed
	people sync.Mutex // held while users are, so that an admin is left
}

// New makes the API of a master. Serve lets it be asked.
func New(m Master, s Store, o Options) (*Server, error) {
	if m == nil || s == nil {
		return nil, errors.New("api: a master and a store are wanted")
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
		o.HashCost = DefaultCost
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

// Serve answers requests on l until ctx ends, and then lets those that are under way end.
// It closes l. An address that other hosts reach is served with TLS and a user only, or
// with Options.Insecure.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.MayListen(ctx, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	capped := newCapped(l, s.options.Connections, s.options.TLS == nil)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.options.Times.Header,
		IdleTimeout:       s.options.Times.Idle,
		MaxHeaderBytes:    60 << 10, // net/http adds 4 KiB
		ConnState:         capped.state,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		TLSConfig:         s.options.TLS,
	}
	keep, stop := context.WithCancel(ctx)
	var children sync.WaitGroup
	children.Go(func() { s.tidy(keep) })
	var ended error
	children.Go(func() {
		<-keep.Done()
		s.streams.end(func(*who) bool { return true })
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Times.Shutdown)
		defer cancel()
		if ended = server.Shutdown(last); ended != nil {
			ended = errors.Join(fmt.Errorf("api: requests did not end in time: %w", ended), server.Close())
		}
	})
	var err error
	if s.options.TLS != nil {
		err = server.ServeTLS(capped, "", "")
	} else {
		err = server.Serve(capped)
	}
	stop()
	children.Wait()
	capped.refusals.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, ended)
}

// MayListen tells whether an address may be served as it is: Serve refuses another one.
func (s *Server) MayListen(ctx context.Context, a net.Addr) error {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() || s.options.Insecure {
		return nil
	}
	if s.options.TLS == nil {
		return fmt.Errorf("api: %s can be reached from other hosts, which would see passwords: give a certificate and its key, listen on 127.0.0.1, or allow it as insecure", a)
	}
	users, err := s.store.Users(ctx)
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	if len(users) == 0 {
		return fmt.Errorf("api: %s can be reached from other hosts and there is no user yet: give the admin's password, or listen on 127.0.0.1 for the setup", a)
	}
	return nil
}

// tidy deletes what has expired, each hour.
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

func (s *Server) tidyOnce(ctx context.Context) {
	now := s.now()
	err := errors.Join(
		s.store.DeleteOldSessions(ctx, now.Add(-sessionIdle), now.Add(-sessionLife)),
		s.store.DeleteOldReplies(ctx, now.Add(-replyLife)),
	)
	if err != nil && ctx.Err() == nil {
		s.log.Error("what has expired could not be deleted", slog.Any("error", err))
	}
}
