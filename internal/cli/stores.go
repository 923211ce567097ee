package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/master/store"
)

// natsPage is what an operator of a NATS cluster reads.
const natsPage = "docs/nats.md"

// checkStores refuses what --db and the flags of --nats can't mean, before anything is made.
func (f *serveFlags) checkStores() error {
	if f.db != "" && !strings.HasPrefix(f.db, "postgres://") && !strings.HasPrefix(f.db, "postgresql://") {
		return usageError("as --db postgres://gobench@db.example/gobench", "--db is no URL of a PostgreSQL data base")
	}
	switch {
	case (f.nats == "") != (f.creds == ""):
		return usageError("agents of a NATS cluster are told apart by the permissions of their credentials: "+natsPage, "--nats URL and --nats-creds FILE go together")
	case f.nats == "" && f.natsCA != "":
		return usageError("the server in the master has an authority of its own", "--nats-ca FILE is for --nats URL")
	case f.nats == "":
		return nil
	}
	if err := checkCredentials(f.creds); err != nil {
		return err
	}
	_, _, err := f.natsServers()
	return err
}

// natsServers are the URLs of --nats, and what --nats-ca holds.
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

// checkCredentials refuses a file of --nats-creds that holds none; no file is right.
func checkCredentials(path string) error {
	if path == "" {
		return nil
	}
	if err := bus.CheckCredentials(path); err != nil {
		return usageError(natsPage+" tells how it is made", "--nats-creds: %w", err)
	}
	return nil
}

// absolute is where a file is for a later start, from another folder; no file has none.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// outside keeps with an agent which has joined what its flags say of a NATS cluster.
func (f *agentFlags) outside(dir string, who bus.Identity) (bus.Identity, error) {
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
		return who, &exitError{exitFailed, err, ""}
	}
	return who, nil
}

// natsError says which flag has to do with a bus that can't be used.
func (f *serveFlags) natsError(err error) error {
	if f.nats == "" {
		return &exitError{exitFailed, fmt.Errorf("connect to the bus: %w", err), ""}
	}
	flag, hint := "--nats "+f.nats, "is it running, and is this its address? The URL is tls://HOST:PORT or nats://HOST:PORT"
	switch {
	case errors.Is(err, bus.ErrCredentials):
		flag, hint = "--nats-creds "+f.creds, "the user has to be in that server's configuration, and not expired or revoked: "+natsPage
	case errors.Is(err, bus.ErrAuthority) && f.natsCA != "":
		flag, hint = "--nats-ca "+f.natsCA, "give the certificate of the authority that has signed the NATS server's, and call it in --nats by a name that is in that"
	case errors.Is(err, bus.ErrAuthority):
		hint = "--nats-ca FILE names the authority that has signed it, where this host does not know that one"
	case errors.Is(err, bus.ErrNoTLS):
		hint = "give it a certificate, or leave --nats-ca out and call it nats://"
	case errors.Is(err, bus.ErrPermission):
		flag, hint = "--nats-creds "+f.creds, "what the master has to be allowed is listed in "+natsPage
	case errors.Is(err, bus.ErrJetStream):
		hint = "how much of it gobench needs is in " + natsPage
	}
	return &exitError{exitFailed, fmt.Errorf("%s: %w", flag, err), hint}
}

// storeError says of a data base that can't be used which flag names it.
func (f *serveFlags) storeError(err error) error {
	if f.db == "" {
		return &exitError{exitFailed, err, ""}
	}
	hint := "is it running, and is there this data base (createdb) for this user? --db postgres://USER:PASSWORD@HOST/NAME"
	var known *store.Error
	if errors.As(err, &known) {
		hint = "" // its text has it
	}
	return &exitError{exitFailed, fmt.Errorf("--db: %w", err), hint}
}
