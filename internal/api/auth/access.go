// Package auth defines users and their roles, sessions, API tokens and the audit log of a
// master. Its types hold hashes of secrets, never the secrets.
package auth

import (
	"slices"
	"time"
)

// Role is what a user may do. Each role includes those before it.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // read
	Tester   Role = "tester"   // submit runs, end their own
	Operator Role = "operator" // end any run, agents, limits
	Admin    Role = "admin"    // users, tokens of others
)

var roles = []Role{Viewer, Tester, Operator, Admin}

// Valid reports whether r is a role.
func (r Role) Valid() bool { return slices.Contains(roles, r) }

// Covers reports whether r includes other. It is false if one of them is not valid.
func (r Role) Covers(other Role) bool {
	return r.Valid() && other.Valid() && slices.Index(roles, r) >= slices.Index(roles, other)
}

// User is a person's or program's account.
type User struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Role     Role      `json:"role"`
	Password string    `json:"-"` // its hash: argon2id in the PHC string format
	Disabled bool      `json:"disabled,omitempty"`
	Version  int64     `json:"version"` // counts changes
	Created  time.Time `json:"created"`
}

// Session is a browser's or a terminal's login.
type Session struct {
	Hash    []byte // SHA-256 of its secret
	User    string // id
	Created time.Time
	Seen    time.Time
}

// Token is an API token: a program's login, with at most its owner's role.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	User    string    `json:"user"` // id
	Role    Role      `json:"role"`
	Hash    []byte    `json:"-"` // SHA-256 of its secret
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Entry is an entry of the audit log. Each holds the hash of the previous one, so that a
// changed or deleted entry is detected.
type Entry struct {
	Number  int64     `json:"number"`
	Time    time.Time `json:"time"` // UTC
	User    string    `json:"user"` // name; empty: no valid login
	Token   string    `json:"token,omitempty"`
	Address string    `json:"address,omitempty"`
	Action  string    `json:"action"` // login, run.submit, token.create, ...
	Object  string    `json:"object,omitempty"`
	Detail  string    `json:"detail,omitempty"` // for people, without secrets
	Result  string    `json:"result"`           // ok, denied, failed
	Chain   []byte    `json:"chain"`            // SHA-256 of the previous entry and this one
}

// Reply is the stored answer to a request with an idempotency key.
type Reply struct {
	User    string
	Key     string
	Request []byte // SHA-256 of method, path and body
	Status  int
	Type    string // of the body
	Body    []byte
	Created time.Time
}
