package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// setupLife is how long a setup token is valid.
const setupLife = time.Hour

// setup holds the token with which the first user is created.
type setup struct {
	mu      sync.Mutex // held while the first user is created
	hash    []byte     // of the token; nil: no token is valid
	expires time.Time
}

func (s *Server) setupFile() string { return filepath.Join(s.options.Dir, "setup-token") }

// Setup returns a new token with which the first user, an admin, can be created within an
// hour. It also writes the token to the file setup-token in Options.Dir, which only the
// master's user may read. The token is empty if there is a user. A token of an earlier call
// becomes invalid in any case.
func (s *Server) Setup(ctx context.Context) (token string, err error) {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	users, err := s.store.Users(ctx)
	if err != nil {
		return "", fmt.Errorf("read users: %w", err)
	}
	if err := s.forgetSetup(); err != nil || len(users) > 0 {
		return "", err
	}
	token = auth.NewSecret()
	if err := os.WriteFile(s.setupFile(), []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the setup token: %w", err)
	}
	s.setup.hash, s.setup.expires = auth.Hash(token), s.now().Add(setupLife)
	return token, nil
}

// forgetSetup makes the setup token invalid and deletes its file, if it exists. An error is of
// the file: the token is invalid then, too. The caller must hold s.setup.mu.
func (s *Server) forgetSetup() error {
	s.setup.hash = nil
	if err := os.Remove(s.setupFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a setup token: %w", err)
	}
	return nil
}

var errSetup = refuse(401, types.Unauthenticated, "the setup token is wrong, used or expired: a master without users prints a new one when it starts")

// first creates the first user, an admin, if the setup token is right, and makes the token
// invalid. It returns errSetup (401) if the token is wrong or expired or there is a user, a
// problem (429) after too many attempts, or the error of create, after which the token can be
// used again. An error of deleting the token's file comes after the user was stored.
func (s *Server) first(ctx context.Context, in types.Setup) (*auth.User, error) {
	q := requestOf(ctx)
	forget, err := s.attempt(s.now(), "setup "+q.address, q.address)
	if err != nil {
		return nil, err
	}
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	if s.setup.hash == nil || !auth.Same(s.setup.hash, auth.Hash(in.Token)) || !s.now().Before(s.setup.expires) {
		return nil, errSetup
	}
	forget()
	users, err := s.store.Users(ctx)
	if err != nil {
		return nil, err
	}
	if len(users) > 0 {
		return nil, errSetup
	}
	u, err := s.create(ctx, types.NewUser{Name: in.Name, Role: auth.Admin, Password: in.Password})
	if err != nil {
		return nil, err
	}
	return u, s.forgetSetup()
}

// adminName is the name of the user that EnsureAdmin creates.
const adminName = "admin"

// EnsureAdmin creates the user "admin" with a password from the master's configuration. If the
// user exists, it sets the password, the role admin, and enables it. If that changes anything,
// it ends the user's sessions and makes the setup token invalid. It returns an error if the
// password is not allowed (auth.CheckPassword) or cannot be hashed now, or if the store fails,
// when the user may be stored already.
func (s *Server) EnsureAdmin(ctx context.Context, password string) error {
	if err := auth.CheckPassword(password, adminName); err != nil {
		return fmt.Errorf("the admin's password %w", err)
	}
	s.userChanges.Lock()
	defer s.userChanges.Unlock()
	u, err := s.store.UserNamed(ctx, adminName)
	if errors.Is(err, run.ErrNotFound) {
		u, err = &auth.User{ID: auth.NewID(), Name: adminName, Created: s.now().UTC()}, nil
	}
	if err != nil {
		return fmt.Errorf("read the admin: %w", err)
	}
	same := false
	if u.Password != "" {
		if same, err = s.hasher.verify(ctx, password, u.Password); err != nil {
			return fmt.Errorf("check the admin's password: %w", err)
		}
	}
	if same && u.Role == auth.Admin && !u.Disabled {
		return nil
	}
	u.Role, u.Disabled = auth.Admin, false
	if !same {
		if u.Password, err = s.hasher.hash(ctx, password); err != nil {
			return fmt.Errorf("hash the admin's password: %w", err)
		}
	}
	if err := s.store.PutUser(ctx, u); err != nil {
		return fmt.Errorf("store the admin: %w", err)
	}
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	return errors.Join(s.forgetSetup(), s.endSessions(ctx, u.ID, false))
}

// create checks and stores a new user. It returns a problem if the name or password is not
// allowed (422) or the name is taken (409), or errBusy; the store checks the role.
func (s *Server) create(ctx context.Context, in types.NewUser) (*auth.User, error) {
	if err := auth.CheckName(in.Name); err != nil {
		return nil, invalid("/name", err.Error())
	}
	if err := auth.CheckPassword(in.Password, in.Name); err != nil {
		return nil, invalid("/password", err.Error())
	}
	hash, err := s.hasher.hash(ctx, in.Password)
	if err != nil {
		return nil, err
	}
	u := &auth.User{ID: auth.NewID(), Name: in.Name, Role: in.Role, Password: hash, Created: s.now().UTC()}
	if err := s.store.PutUser(ctx, u); err != nil {
		if errors.Is(err, run.ErrConflict) {
			return nil, refuse(409, types.Conflict, "there is a user of that name: "+strings.ToLower(in.Name))
		}
		return nil, err
	}
	return u, nil
}
