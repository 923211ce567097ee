package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/master/store"
)

// natsPage is the page for operators of a NATS cluster.
const natsPage = "docs/nats.md"

// checkStores returns a usage error for wrong values of --db and the flags of --nats,
// before anything is created. It reads the files but does not connect.
func (f *serveFlags) checkStores() error {
	if f.db != "" && !strings.HasPrefix(f.db, "postgres://") && !strings.HasPrefix(f.db, "postgresql://") {
		return usageError("as --db postgres://gobench@db.example/gobench", "--db is not the URL of a PostgreSQL database")
	}
	switch {
	case (f.nats == "") != (f.creds == ""):
		return usageError("the permissions of credentials separate the agents of a NATS cluster: "+natsPage, "--nats URL and --nats-creds FILE go together")
	case f.nats == "" && f.natsCA != "":
		return usageError("the NATS server in the master has its own authority", "--nats-ca FILE needs --nats URL")
	case f.nats == "":
		return nil
	}
	if err := checkCredentials(f.creds); err != nil {
		return err
	}
	_, _, err := f.natsServers()
	return err
}

// natsServers returns the URLs of --nats, and the certificates of --nats-ca in the form of
// bus.ReadAuthorities, nil if that is unset. A wrong value is a usage error.
func (f *serveFlags) natsServers() (urls []string, ca []byte, err error) {
	if urls, err = bus.Servers(f.nats); err != nil {
		return nil, nil, usageError("as --nats tls://a.example,tls://b.example", "--nats: %w", err)
	}
	if f.natsCA != "" {
		if ca, err = bus.ReadAuthorities(f.natsCA); err != nil {
			return nil, nil, usageError("", "--nats-ca: %w", err)
		}
	}
	return urls, ca, nil
}

// checkCredentials returns a usage error for a file of --nats-creds without valid
// credentials. An empty path is valid.
func checkCredentials(path string) error {
	if path == "" {
		return nil
	}
	if err := bus.CheckCredentials(path); err != nil {
		return usageError(natsPage+" shows how to make it", "--nats-creds: %w", err)
	}
	return nil
}

// absolute returns the absolute path of a file, for a start from another folder; empty for
// an empty path.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// setNATS sets --nats-creds and --nats-ca in the identity who of an agent that has joined,
// stores it in dir, and returns it; without these flags it returns who and stores nothing.
// On an error the stored identity is as before.
func (f *agentFlags) setNATS(dir string, who bus.Identity) (bus.Identity, error) {
	if f.creds == "" && f.natsCA == "" {
		return who, nil
	}
	var err error
	if f.natsCA != "" {
		if who.CA, err = bus.ReadAuthorities(f.natsCA); err != nil {
			return who, usageError("", "--nats-ca: %w", err)
		}
	}
	if f.creds != "" {
		who.Creds, err = absolute(f.creds)
	}
	if err == nil {
		err = bus.WriteIdentity(dir, who)
	}
	if err != nil {
		return who, err
	}
	return who, nil
}

// natsError returns the error of a bus that can't be used with exit status 1, and with
// --nats a hint at the flag that would help.
func (f *serveFlags) natsError(err error) error {
	if f.nats == "" {
		return fmt.Errorf("connect to the bus: %w", err)
	}
	flag, hint := "--nats "+f.nats, "is it running at this address? The URL is tls://HOST:PORT or nats://HOST:PORT"
	switch {
	case errors.Is(err, bus.ErrCredentials):
		flag, hint = "--nats-creds "+f.creds, "the user has to be in that server's configuration, and not expired or revoked: "+natsPage
	case errors.Is(err, bus.ErrAuthority) && f.natsCA != "":
		flag, hint = "--nats-ca "+f.natsCA, "name the authority that signed the NATS server's certificate, and use a host name of that certificate in --nats"
	case errors.Is(err, bus.ErrAuthority):
		hint = "--nats-ca FILE names the authority that signed it, if this host does not trust that one"
	case errors.Is(err, bus.ErrNoTLS):
		hint = "configure a certificate there, or leave --nats-ca out and use nats://"
	case errors.Is(err, bus.ErrPermission):
		flag, hint = "--nats-creds "+f.creds, "the permissions that the master needs are listed in "+natsPage
	case errors.Is(err, bus.ErrJetStream):
		hint = "what gobench needs of it is in " + natsPage
	}
	return &exitError{exitFailed, fmt.Errorf("%s: %w", flag, err), hint}
}

// storeError returns the error of a database that can't be used with exit status 1, and
// with --db a hint, unless the error's text has one.
func (f *serveFlags) storeError(err error) error {
	if f.db == "" {
		return err
	}
	hint := "is it running, and does this database exist (createdb) for this user? --db postgres://USER:PASSWORD@HOST/NAME"
	var known *store.Error
	if errors.As(err, &known) {
		hint = "" // its text has one
	}
	return &exitError{exitFailed, fmt.Errorf("--db: %w", err), hint}
}
