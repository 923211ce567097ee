package http

import (
	nethttp "net/http"
	"net/http/cookiejar"
	"net/url"
)

// Jar returns the client's cookies, for a scenario that reads or sets them. It is the same jar
// at each call, and any number of goroutines may use it. Jar returns nil unless
// [Options.Cookies] is set.
func (h HttpClient) Jar() nethttp.CookieJar {
	if h.c == nil || !h.c.settings.Cookies {
		return nil
	}
	return h.c.cookies(true)
}

// cookies returns the client's jar. If it has none yet, it creates one if want is set, and
// returns nil otherwise. Most clients with the option never need a jar.
func (c *client) cookies(want bool) *cookiejar.Jar {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.more()
	if x.jar == nil && want {
		x.jar, _ = cookiejar.New(nil) // it never fails; without a list of public suffixes, see docs/clients/http.md
	}
	return x.jar
}

// keepCookies stores the cookies of an answer from u, whose header lines are lines, in the
// jar, which it creates if necessary. A malformed cookie is ignored (RFC 6265, section 5.2).
func (c *client) keepCookies(u *url.URL, lines []byte) {
	var set []*nethttp.Cookie
	eachField(lines, func(name, value []byte) bool {
		if foldEqual(name, "set-cookie") {
			if cookie, err := nethttp.ParseSetCookie(string(value)); err == nil {
				set = append(set, cookie)
			}
		}
		return true
	})
	if len(set) > 0 {
		c.cookies(true).SetCookies(u, set)
	}
}

// appendCookies appends the header line, with CR LF, with the cookies for a request to u. It
// returns b unchanged if there is no cookie or the caller has set a Cookie header. b must be
// empty.
func (c *client) appendCookies(b []byte, u *url.URL, r *Request) []byte {
	if r.has("cookie") {
		return b
	}
	jar := c.cookies(false)
	if jar == nil {
		return b
	}
	for i, cookie := range jar.Cookies(u) {
		if i == 0 {
			b = append(b, "Cookie: "...)
		} else {
			b = append(b, "; "...)
		}
		b = append(b, cookie.Name...)
		b = append(b, '=')
		if cookie.Quoted {
			b = append(b, '"')
		}
		b = append(b, cookie.Value...)
		if cookie.Quoted {
			b = append(b, '"')
		}
	}
	if len(b) > 0 {
		b = append(b, "\r\n"...)
	}
	return b
}
