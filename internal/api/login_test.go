package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *clock { return &clock{at: time.Now().UTC()} }

func login(name, password string) string {
	b, _ := json.Marshal(types.Login{Name: name, Password: password})
	return string(b)
}

// cookieOf is the cookie that an answer sets, as a request sends it.
func cookieOf(t *testing.T, a reply) (*http.Cookie, string) {
	t.Helper()
	all := a.Cookies()
	if len(all) != 1 {
		t.Fatalf("%d cookies of %d %s", len(all), a.StatusCode, a.body)
	}
	return all[0], all[0].Name + "=" + all[0].Value
}

// in logs a user in and returns the cookie.
func (r *rig) in(name string) string {
	r.t.Helper()
	_, c := cookieOf(r.t, r.ask("", "POST", "/api/v1/login", login(name, password)))
	return c
}

func TestSessions(t *testing.T) {
	at := newClock()
	r := serve(t, Options{Now: at.now}).people()
	me := func(cookie string) int { return r.ask("", "GET", "/api/v1/me", "", "Cookie", cookie).StatusCode }
	answer := r.ask("", "POST", "/api/v1/login", login("Viewer", password))
	c, one := cookieOf(t, answer)
	if c.Name != "gobench" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || len(c.Value) < 43 {
		t.Errorf("cookie %+v", c)
	}
	if got := decode200[types.Me](t, answer); got.User.Name != "viewer" || got.Role != auth.Viewer || strings.Contains(answer.body, "argon2") {
		t.Errorf("who logs in: %s", answer.body)
	}
	for _, s := range r.store.sessions {
		if strings.Contains(string(s.Hash), c.Value) {
			t.Error("the secret is stored")
		}
	}
	// A login starts a new session, and ends the one that it was sent with.
	_, two := cookieOf(t, r.ask("", "POST", "/api/v1/login", login("viewer", password), "Cookie", one))
	if one == two || me(one) != 401 || me(two) != 200 {
		t.Errorf("old %d, new %d", me(one), me(two))
	}
	for _, bad := range []string{"gobench=", "gobench=x", two + "x", two + "; " + two, "__Host-" + two, strings.ToUpper(two)} {
		if me(bad) != 401 {
			t.Errorf("cookie %q lets in", bad)
		}
	}
	gone, _ := cookieOf(t, r.ask("", "POST", "/api/v1/logout", "", "Cookie", two))
	if gone.MaxAge >= 0 || me(two) != 401 {
		t.Errorf("after logout: %+v, %d", gone, me(two))
	}
	// Idle and whole life.
	idle, busy := r.in("viewer"), r.in("tester")
	for range 6*24/11 + 1 {
		at.add(11 * time.Hour)
		if me(busy) != 200 {
			t.Fatal("a session that is used ends")
		}
	}
	if me(idle) != 401 {
		t.Error("an idle session lives")
	}
	at.add(7*24*time.Hour - 14*11*time.Hour)
	if me(busy) != 401 {
		t.Error("a session lives for ever")
	}
	at.add(time.Hour)
	if r.api.tidyOnce(t.Context()); len(r.store.sessions) != 0 {
		t.Errorf("%d old sessions are kept", len(r.store.sessions))
	}
}

// TestSessionsEnd holds that a change of password and of a user ends sessions at once.
func TestSessionsEnd(t *testing.T) {
	r := serve(t, Options{}).people()
	me := func(cookie string) int { return r.ask("", "GET", "/api/v1/me", "", "Cookie", cookie).StatusCode }
	one, two := r.in("tester"), r.in("tester")
	change := func(old, new string) reply {
		b, _ := json.Marshal(types.Password{Old: old, New: new})
		return r.ask("", "PUT", "/api/v1/me/password", string(b), "Cookie", one)
	}
	if got := change("wrong", "another long one"); got.StatusCode != http.StatusUnprocessableEntity || got.problem(t).Errors[0].Pointer != "/old" {
		t.Errorf("wrong: %d %s", got.StatusCode, got.body)
	}
	if got := change(password, "short"); got.StatusCode != http.StatusUnprocessableEntity || got.problem(t).Errors[0].Pointer != "/new" {
		t.Errorf("short: %d %s", got.StatusCode, got.body)
	}
	_, three := cookieOf(t, change(password, "another long one"))
	if me(one) != 401 || me(two) != 401 || me(three) != 200 {
		t.Errorf("sessions: %d %d %d", me(one), me(two), me(three))
	}
	u, _ := r.store.UserNamed(t.Context(), "tester")
	admin := r.tokens[auth.Admin]
	got := r.ask(admin, "PATCH", "/api/v1/users/"+u.ID, `{"password":"`+password+`"}`, "If-Match", "*")
	if got.StatusCode != 200 || me(three) != 401 {
		t.Errorf("by an admin: %d %s, session %d", got.StatusCode, got.body, me(three))
	}
	four := r.in("tester")
	if got := r.ask(admin, "PATCH", "/api/v1/users/"+u.ID, `{"disabled":true}`, "If-Match", "*"); got.StatusCode != 200 || me(four) != 401 {
		t.Errorf("disabled: %d, session %d", got.StatusCode, me(four))
	}
	if got := r.ask(r.tokens[auth.Tester], "GET", "/api/v1/me", ""); got.StatusCode != 401 {
		t.Errorf("a disabled user's token: %d", got.StatusCode)
	}
	disabled, nobody := r.ask("", "POST", "/api/v1/login", login("tester", password)), r.ask("", "POST", "/api/v1/login", login("nobody", password))
	if disabled.StatusCode != 401 || nobody.StatusCode != 401 || disabled.problem(t).Detail != nobody.problem(t).Detail {
		t.Errorf("disabled %s, nobody %s", disabled.body, nobody.body)
	}
}

// TestGuesses is B21.
func TestGuesses(t *testing.T) {
	at := newClock()
	r := serve(t, Options{Now: at.now}).people()
	try := func(name, word string) reply { return r.ask("", "POST", "/api/v1/login", login(name, word)) }
	var first string
	for i := range 10 {
		got := try("tester", "wrong password "+fmt.Sprint(i))
		p := got.problem(t)
		switch {
		case i < 5 && got.StatusCode != 401, i >= 5 && (got.StatusCode != 429 || got.Header.Get("Retry-After") != "60"):
			t.Errorf("%d: %d %s, after %s", i, got.StatusCode, got.body, got.Header.Get("Retry-After"))
		case i == 0:
			first = p.Detail
		case i < 5 && p.Detail != first:
			t.Errorf("%d says %q", i, p.Detail)
		}
	}
	if got := try("TESTER", password); got.StatusCode != 429 {
		t.Errorf("the right one, too late: %d", got.StatusCode)
	}
	if got := try("viewer", password); got.StatusCode != 200 {
		t.Errorf("another account: %d %s", got.StatusCode, got.body)
	}
	at.add(time.Minute)
	for range 12 { // what is right does not count
		if got := try("tester", password); got.StatusCode != 200 {
			t.Fatalf("a minute later: %d %s", got.StatusCode, got.body)
		}
	}
	at.add(time.Minute)
	for i := range perAddress { // nor helps it to guess at many accounts
		if got := try(fmt.Sprint("user", i), password); got.StatusCode != 401 || got.problem(t).Detail != first {
			t.Errorf("user %d: %d %s", i, got.StatusCode, got.body)
		}
	}
	if got := try("viewer", password); got.StatusCode != 429 {
		t.Errorf("the address is let in: %d", got.StatusCode)
	}
	at.add(time.Minute)
	for name, body := range map[string]string{
		"64 characters":  login("tester", strings.Repeat("long", 16)),
		"unicode":        login("t\u00e9ster", "p\u00e4ssw\u00f6rd \U0001f600\x00"),
		"SQL":            login("' or 1=1 --", "' or 1=1 --"),
		"empty":          login("", ""),
		"a hash as name": login("$argon2id$", "x"),
	} {
		if got := r.ask("", "POST", "/api/v1/login", body); got.StatusCode != 401 || got.problem(t).Detail != first {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if got := r.ask("", "POST", "/api/v1/login", login("tester", strings.Repeat("x", 1<<20))); got.StatusCode != 413 {
		t.Errorf("1 MiB: %d", got.StatusCode)
	}
	if strings.Contains(r.log.String(), "wrong password") || strings.Contains(r.log.String(), password) || strings.Contains(r.log.String(), "gobench=") {
		t.Error("the log has a secret")
	}
	for _, e := range r.store.audited("login") {
		if strings.Contains(e.Object+e.Detail, "wrong") || strings.Contains(e.Object, "or 1=1") {
			t.Errorf("the audit log has what was typed: %+v", e)
		}
	}
}
