package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// lockKey is the key of the advisory lock that the master of a database holds: the bytes of
// "gobench".
const lockKey = 0x676f62656e6368

// openPostgres opens the database of Options.DSN and updates its schema. The connection that
// writes holds the lock. If that connection is lost and another master takes the lock, writes
// fail while that has it. After an error Close must be called.
func (s *Store) openPostgres(ctx context.Context) error {
	u, err := url.Parse(s.options.DSN)
	if err != nil {
		return errors.New("store: the DSN of PostgreSQL is not a valid URL: postgres://USER:PASSWORD@HOST/NAME") // err holds the password
	}
	s.name = (&url.URL{Scheme: u.Scheme, User: url.User(u.User.Username()), Host: u.Host, Path: u.Path}).String()
	config, err := pgx.ParseConfig(s.options.DSN)
	if err != nil {
		return fmt.Errorf("store %s: the DSN is not valid: postgres://USER:PASSWORD@HOST/NAME", s.name)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	config.RuntimeParams["application_name"] = fmt.Sprintf("gobench pid %d on %.20s", os.Getpid(), host)
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(s.options.Times.Busy.Milliseconds())
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	// A lost connection is detected before it is used.
	ask := stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return true })
	s.w = stdlib.OpenDB(*config, ask, stdlib.OptionAfterConnect(s.holdLock))
	s.w.SetMaxOpenConns(1)
	s.w.SetMaxIdleConns(1)
	s.w.SetConnMaxLifetime(0)
	s.r = stdlib.OpenDB(*config, ask)
	s.r.SetMaxOpenConns(8)
	s.r.SetMaxIdleConns(2)
	var locked *Error
	if err := s.w.PingContext(ctx); errors.As(err, &locked) {
		return locked
	} else if err != nil {
		return fmt.Errorf("store %s: %w", s.name, briefly(err))
	}
	var encoding string
	if err := s.w.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return s.failed(err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("store %s: its encoding is %s: make a database with ENCODING 'UTF8'", s.name, encoding)
	}
	return s.migrate(ctx, func(_ context.Context, version int64) error {
		s.options.Log.Warn("the store has an older schema, which is changed now; pg_dump makes a copy, before an upgrade", "store", s.name, "version", version)
		return nil
	})
}

// briefly returns the reason of a failed connection: the server's or the system's error alone,
// or else err's text in one line, as the driver's has one for each address.
func briefly(err error) error {
	var said *pgconn.PgError
	var down *net.OpError
	switch {
	case errors.As(err, &said):
		return said
	case errors.As(err, &down):
		return down
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// holdLock takes the lock with a new connection, for as long as that exists. If ctx ends
// first, it returns ctx's error. It waits for up to Times.Lock; then it returns an *Error of
// kind Locked that names the holder if possible.
func (s *Store) holdLock(ctx context.Context, c *pgx.Conn) error {
	for deadline := time.Now().Add(s.options.Times.Lock); time.Now().Before(deadline); {
		var ok bool
		if err := c.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(lockKey)).Scan(&ok); err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	who := "another session has its lock"
	var name string
	var pid int
	var from *net.IPNet
	err := c.QueryRow(ctx, `SELECT a.application_name, a.pid, a.client_addr FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND l.classid::bigint = $1 AND l.objid::bigint = $2`, int64(lockKey)>>32, int64(lockKey)&0xffffffff).Scan(&name, &pid, &from)
	if err == nil {
		who = fmt.Sprintf("another master has it: %s (the server's process %d", name, pid)
		if from != nil {
			who += ", from " + from.IP.String()
		}
		who += ")"
	}
	return &Error{Kind: Locked, Name: s.name, Text: who + ": end that first, or choose another database with --db"}
}
