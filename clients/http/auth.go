package http

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Auth holds a client's credentials: [Basic], [Bearer] or [Digest]. They are sent only to the
// server in the call's URL, not to one that it redirects to. An Authorization header set by the
// caller replaces them.
type Auth struct {
	scheme         scheme
	user, password string // for bearer, password is the token
}

type scheme uint8

const (
	noAuth scheme = iota
	basic
	bearer
	digest
)

// Basic returns an Auth that sends user and password, as UTF-8, with every request (RFC 7617).
func Basic(user, password string) Auth { return Auth{basic, user, password} }

// Bearer returns an Auth that sends a token with every request (RFC 6750).
func Bearer(token string) Auth { return Auth{bearer, "", token} }

// Digest returns an Auth that answers the server's challenge without revealing the password
// (RFC 7616). It supports MD5, SHA-256 and SHA-512-256, with or without "-sess", and the
// quality of protection "auth" or a challenge without one. The first call takes two requests;
// later ones reuse the nonce until the server reports it as stale. After an unsupported
// challenge, and if the server refuses the credentials, the answer is the one with status 401.
func Digest(user, password string) Auth { return Auth{digest, user, password} }

// check returns an error if the credentials can't be sent. It does not contain the password.
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

// header returns the value of Authorization for Basic and Bearer; "" for the others.
func (a Auth) header() string {
	switch a.scheme {
	case basic:
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.user+":"+a.password))
	case bearer:
		return "Bearer " + a.password
	}
	return ""
}

// String hides the password, so that printed options do not reveal it.
func (a Auth) String() string {
	return [...]string{"none", "Basic " + a.user, "Bearer", "Digest " + a.user}[a.scheme]
}

// GoString is String.
func (a Auth) GoString() string { return a.String() }
