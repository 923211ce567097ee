package http

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"sync/atomic"
)

// nonce is a server's challenge for credentials (RFC 7616, section 3.3). It can be used for any
// number of requests, which are counted.
type nonce struct {
	realm, value, opaque string
	algorithm            string // as the server writes it; "" means MD5
	hash                 func() hash.Hash
	session              bool // algorithm ends in -sess
	auth                 bool // qop=auth; false: the older form without qop (RFC 2069)
	hidden               bool // the user's name is hashed too
	sessionSecret        string
	sessionCnonce        string

	uses atomic.Uint32
}

// maxChallenges limits how often a stale nonce is replaced in one operation.
const maxChallenges = 3

// appendDigest appends the header line, with CR LF, with the credentials for q's request, made
// with the last nonce of its server, whose use it counts. It also returns that nonce; nil, and
// b unchanged, if there is no nonce.
func (c *client) appendDigest(b []byte, q *call) ([]byte, *nonce) {
	c.mu.Lock()
	n := c.more().nonces[q.target.origin]
	c.mu.Unlock()
	if n == nil {
		return b, nil
	}
	b = append(b, "Authorization: "...)
	uri := strings.TrimPrefix(q.path, "http://"+q.target.host) // as the server sees it, also behind a proxy
	b = append(b, n.credentials(c.settings.Auth, q.request.Method, uri, rand.Text(), n.uses.Add(1))...)
	return append(b, "\r\n"...), n
}

// challenged looks for a challenge in an answer and stores its nonce for f.origin. It reports
// whether the request is to be sent again with credentials for it: after a status 401 with a
// supported challenge, unless it refuses credentials whose nonce is not stale, or follows
// maxChallenges. After another 401 it deletes the nonce; after another status it stores the
// next nonce if the server has sent one.
func (f *follow) challenged(status int, lines []byte) bool {
	c := f.c
	remember := func(n *nonce) {
		c.mu.Lock()
		defer c.mu.Unlock()
		x := c.more()
		if x.nonces == nil {
			x.nonces = map[string]*nonce{}
		}
		x.nonces[f.origin] = n
	}
	if status != 401 {
		if info := fieldValues(lines, "authentication-info"); info != "" && f.offered != nil {
			if value := authParams(info)["nextnonce"]; value != "" {
				remember(f.offered.renewed(value))
			}
		}
		return false
	}
	n, stale := parseChallenges(lines)
	if n == nil || f.offered != nil && !stale || f.challenges >= maxChallenges {
		remember(nil) // wrong credentials, or an unsupported challenge
		return false
	}
	n.begin(c.settings.Auth, rand.Text())
	remember(n)
	return true
}

// parseChallenges returns a nonce for the first supported Digest challenge in
// WWW-Authenticate, because servers list the preferred one first, and whether that reports the
// nonce sent as stale. It returns nil if there is no such challenge. lines are an answer's
// header lines.
func parseChallenges(lines []byte) (n *nonce, stale bool) {
	eachField(lines, func(name, value []byte) bool {
		if !foldEqual(name, "www-authenticate") {
			return true
		}
		for _, challenge := range splitChallenges(string(value)) {
			scheme, params, _ := strings.Cut(challenge, " ")
			if strings.EqualFold(scheme, "digest") {
				p := authParams(params)
				if n = newNonce(p); n != nil {
					stale = strings.EqualFold(p["stale"], "true")
					return false
				}
			}
		}
		return true
	})
	return n, stale
}

// newNonce returns a nonce with a challenge's parameters, by name in lower case, or nil if the
// challenge is not supported or malformed. The caller must call begin before credentials.
func newNonce(p map[string]string) *nonce {
	n := &nonce{
		realm: p["realm"], value: p["nonce"], opaque: p["opaque"], algorithm: p["algorithm"],
		hidden: strings.EqualFold(p["userhash"], "true"),
	}
	name := strings.ToUpper(n.algorithm)
	name, n.session = strings.CutSuffix(name, "-SESS")
	switch name {
	case "", "MD5":
		n.hash = md5.New
	case "SHA-256":
		n.hash = sha256.New
	case "SHA-512-256":
		n.hash = sha512.New512_256
	default:
		return nil
	}
	if qop, ok := p["qop"]; ok {
		for option := range strings.SplitSeq(qop, ",") {
			n.auth = n.auth || strings.EqualFold(strings.TrimSpace(option), "auth")
		}
		if !n.auth {
			return nil
		}
	}
	if n.value == "" || !quotable(n.realm) || !quotable(n.value) || !quotable(n.opaque) || !isName("x"+n.algorithm) {
		return nil
	}
	return n
}

// renewed returns a copy of n with value, the nonce that its server wants next, whose uses are
// counted from 0.
func (n *nonce) renewed(value string) *nonce {
	return &nonce{
		realm: n.realm, value: value, opaque: n.opaque, algorithm: n.algorithm, hash: n.hash,
		session: n.session, auth: n.auth, hidden: n.hidden,
		sessionSecret: n.sessionSecret, sessionCnonce: n.sessionCnonce,
	}
}

// begin sets the values that stay the same for the nonce's lifetime, which only algorithms
// with "-sess" have.
func (n *nonce) begin(a Auth, cnonce string) {
	if n.session {
		n.sessionCnonce = cnonce
		n.sessionSecret = n.sum(n.sum(a.user+":"+n.realm+":"+a.password) + ":" + n.value + ":" + cnonce)
	}
}

// credentials returns the value of Authorization (RFC 7616, section 3.4). uri is that of the
// request line; use is the number of the request with this nonce, from 1. cnonce is a random
// text, which is not used with "-sess": begin has set one.
func (n *nonce) credentials(a Auth, method, uri, cnonce string, use uint32) string {
	secret := n.sessionSecret
	if n.session {
		cnonce = n.sessionCnonce
	} else {
		secret = n.sum(a.user + ":" + n.realm + ":" + a.password)
	}
	request := n.sum(method + ":" + uri)
	count := fmt.Sprintf("%08x", use)
	var response string
	if n.auth {
		response = n.sum(secret + ":" + n.value + ":" + count + ":" + cnonce + ":auth:" + request)
	} else {
		response = n.sum(secret + ":" + n.value + ":" + request)
	}
	var b strings.Builder
	switch {
	case n.hidden:
		fmt.Fprintf(&b, `Digest username="%s"`, n.sum(a.user+":"+n.realm))
	default:
		fmt.Fprintf(&b, `Digest username="%s"`, quote(a.user))
	}
	fmt.Fprintf(&b, `, realm="%s", uri="%s", nonce="%s", response="%s"`, quote(n.realm), quote(uri), quote(n.value), response)
	if n.algorithm != "" {
		b.WriteString(", algorithm=" + n.algorithm)
	}
	if n.auth {
		b.WriteString(", qop=auth, nc=" + count)
	}
	if n.auth || n.session {
		fmt.Fprintf(&b, `, cnonce="%s"`, quote(cnonce))
	}
	if n.opaque != "" {
		fmt.Fprintf(&b, `, opaque="%s"`, quote(n.opaque))
	}
	if n.hidden {
		b.WriteString(", userhash=true")
	}
	return b.String()
}

func (n *nonce) sum(s string) string {
	h := n.hash()
	h.Write([]byte(s))
	return hex.EncodeToString(h.Sum(nil))
}

// splitChallenges splits "Basic realm="a, b", Digest nonce=x, qop=y" into challenges, as here
// "Digest nonce=x, qop=y"; nil without one. A new one starts at a word that is alone or
// followed by a space, and not by an equals sign (RFC 9110, section 11.6.1). What comes before
// the first one is dropped.
func splitChallenges(s string) []string {
	var all []string
	for _, part := range splitList(s) {
		word, rest, spaced := strings.Cut(part, " ")
		if isName(word) && (!spaced || !strings.HasPrefix(strings.TrimLeft(rest, " \t"), "=")) && !strings.Contains(word, "=") {
			all = append(all, part)
		} else if len(all) > 0 {
			all[len(all)-1] += ", " + part
		}
	}
	return all
}

// splitList splits a list at the commas outside quotes, and trims its parts, which may be
// empty. It returns at least one.
func splitList(s string) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			parts = append(parts, strings.Trim(s[from:i], " \t"))
			from = i + 1
		}
	}
	return append(parts, strings.Trim(s[from:], " \t"))
}

// authParams parses a list of name=value pairs into a map from names in lower case to unquoted
// values. Of pairs with the same name it uses the first; parts without "=" are ignored.
func authParams(s string) map[string]string {
	p := map[string]string{}
	for _, part := range splitList(s) {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.Trim(name, " \t")), strings.Trim(value, " \t")
		if _, ok := p[name]; !found || ok {
			continue
		}
		p[name] = unquote(value)
	}
	return p
}

// unquote returns the text of a quoted string, and anything else unchanged.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i < len(s)-2 {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// quotable reports whether s may be in a header as a quoted string.
func quotable(s string) bool { return checkValue("", "", s) == nil }

func quote(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }
