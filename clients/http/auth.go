package http

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Auth is how a client proves who it is: [Basic], [Bearer] or [Digest]. Only the
// server that a call names gets the credentials, not one that it redirects to. The
// caller's own Authorization header replaces them.
type Auth struct {
	scheme         scheme
	user, password string // the password of bearer is its token
}

type scheme uint8

const (
	noAuth scheme = iota
	basic
	bearer
	digest
)

// Basic sends user and password with every request (RFC 7617), as UTF-8.
func Basic(user, password string) Auth { return Auth{basic, user, password} }

// Bearer sends a token with every request (RFC 6750).
func Bearer(token string) Auth { return Auth{bearer, "", token} }

// Digest answers the server's challenge without telling it the password (RFC 7616):
// MD5, SHA-256 and SHA-512-256, with or without "-sess", quality of protection "auth"
// or none. The first call takes two requests; later ones go on with the same nonce,
// until the server says that it is stale.
func Digest(user, password string) Auth { return Auth{digest, user, password} }

// check refuses credentials that can't be sent.
func (a Auth) check() error {
	switch {
	case a.scheme == basic && strings.Contains(a.user, ":"):
		return errors.New("options: Auth: the user of Basic has a colon (RFC 7617, section 2)")
	case a.scheme == bearer && a.password == "":
		return errors.New("options: Auth: the token of Bearer is empty")
	case checkValue("", "", a.user) != nil || checkValue("", "", a.password) != nil:
		return errors.New("options: Auth: control character in the user, password or token")
	}
	return nil
}

// header is what Basic and Bearer send; "" for the others.
func (a Auth) header() string {
	switch a.scheme {
	case basic:
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.user+":"+a.password))
	case bearer:
		return "Bearer " + a.password
	}
	return ""
}

// String hides the password, so that printed options do not tell it.
func (a Auth) String() string {
	return [...]string{"none", "Basic " + a.user, "Bearer", "Digest " + a.user}[a.scheme]
}

// GoString is String.
func (a Auth) GoString() string { return a.String() }
