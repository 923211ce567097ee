package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

func TestSetup(t *testing.T) {
	dir, at := t.TempDir(), newClock()
	r := serve(t, Options{Dir: dir, Now: at.now})
	body := func(token, name, password string) string {
		b, _ := json.Marshal(types.Setup{Token: token, Name: name, Password: password})
		return string(b)
	}
	file := filepath.Join(dir, "setup-token")
	if i := decode200[types.Information](t, r.ask("", "GET", "/api/v1/info", "")); i.Setup || i.Product != "gobench" {
		t.Errorf("before: %+v", i)
	}
	old, err := r.api.Setup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := r.api.Setup(t.Context())
	if err != nil || token == old {
		t.Fatal(token, err)
	}
	kept, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	if err != nil || strings.TrimSpace(string(kept)) != token || info.Mode().Perm() != 0o600 || len(token) < 22 {
		t.Errorf("the file has %q, %v, %v", kept, info.Mode(), err)
	}
	if i := decode200[types.Information](t, r.ask("", "GET", "/api/v1/info", "")); !i.Setup {
		t.Errorf("with a token: %+v", i)
	}
	if got := r.ask("", "POST", "/api/v1/setup", body(old, "ann", password)); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("an older token: %d %s", got.StatusCode, got.body)
	}
	for _, bad := range [][2]string{{"ann", "short"}, {"", password}, {"a b", password}} {
		if got := r.ask("", "POST", "/api/v1/setup", body(token, bad[0], bad[1])); got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d %s", bad, got.StatusCode, got.body)
		}
	}
	at.add(setupLife)
	if got := r.ask("", "POST", "/api/v1/setup", body(token, "ann", password)); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("too old: %d %s", got.StatusCode, got.body)
	}
	if token, err = r.api.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Of many at once, one makes the first user.
	var made, refused int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			got := r.ask("", "POST", "/api/v1/setup", body(token, fmt.Sprint("ann", i), password))
			mu.Lock()
			defer mu.Unlock()
			switch got.StatusCode {
			case http.StatusCreated:
				made++
			case http.StatusUnauthorized:
				refused++
			}
		})
	}
	all.Wait()
	users, _ := r.store.Users(t.Context())
	if made != 1 || refused != 3 || len(users) != 1 || users[0].Role != auth.Admin {
		t.Errorf("%d were made, %d refused, there are %v", made, refused, users)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	if token, err := r.api.Setup(t.Context()); token != "" || err != nil {
		t.Errorf("with a user: %q, %v", token, err)
	}
	if len(r.store.audited("setup")) == 0 || strings.Contains(r.log.String(), token) && token != "" {
		t.Error("audit or log")
	}
}

func TestEnsureAdmin(t *testing.T) {
	r := serve(t, Options{})
	ctx := t.Context()
	if err := r.api.EnsureAdmin(ctx, "short"); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("short: %v", err)
	}
	if _, err := r.api.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.api.EnsureAdmin(ctx, password); err != nil {
		t.Fatal(err)
	}
	if i := decode200[types.Information](t, r.ask("", "GET", "/api/v1/info", "")); i.Setup {
		t.Error("the setup token is still good")
	}
	first := r.in("admin")
	if err := r.api.EnsureAdmin(ctx, password); err != nil {
		t.Fatal(err)
	}
	if got := r.ask("", "GET", "/api/v1/me", "", "Cookie", first); got.StatusCode != http.StatusOK {
		t.Errorf("the same again has ended a session: %d", got.StatusCode)
	}
	if err := r.api.EnsureAdmin(ctx, "another "+password); err != nil {
		t.Fatal(err)
	}
	if got := r.ask("", "GET", "/api/v1/me", "", "Cookie", first); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("another has not: %d", got.StatusCode)
	}
	if got := r.ask("", "POST", "/api/v1/login", login("ADMIN", "another "+password)); got.StatusCode != http.StatusOK {
		t.Errorf("login: %d %s", got.StatusCode, got.body)
	}
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

// TestLoginCostsAsMuchForNobody holds that the same key is derived for a user that does
// not exist as for one that does: else the time of an answer would reveal which names
// exist. TestLoginTakesAsLongForNobody measures the times.
func TestLoginCostsAsMuchForNobody(t *testing.T) {
	h := newHasher(cheap)
	type derivation struct {
		cost           Cost
		salt, password int
		length         uint32
	}
	var derived []derivation
	h.derive = func(password string, salt []byte, c Cost, length uint32) []byte {
		derived = append(derived, derivation{c, len(salt), len(password), length})
		return argon2id(password, salt, c, length)
	}
	hash, err := h.hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	derived = nil
	for _, stored := range []string{hash, ""} {
		if ok, err := h.verify(t.Context(), "wrong", stored); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if len(derived) != 2 || derived[0] != derived[1] {
		t.Errorf("derived %+v", derived)
	}
	if ok, err := h.verify(t.Context(), password, hash); !ok || err != nil {
		t.Errorf("the right one: %v, %v", ok, err)
	}
	for _, bad := range []string{"x", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=4294967295,t=1,p=1$AAAA$" + strings.Repeat("A", 43), "$argon2id$v=19$m=64,t=0,p=1$AAAA$" + strings.Repeat("A", 43)} {
		if ok, err := h.verify(t.Context(), password, bad); ok || err == nil {
			t.Errorf("%q: %v, %v", bad, ok, err)
		}
	}
}

// TestDefaultCost holds that new hashes cost what defaultCost says, which is above OWASP's
// minimum of 19 MiB and 2 passes.
func TestDefaultCost(t *testing.T) {
	if defaultCost.Memory < 19<<10 || defaultCost.Passes < 2 {
		t.Errorf("default cost %+v", defaultCost)
	}
	api, err := New(newSmall(), newMemory(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	hash, err := api.hasher.hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	if cost, salt, _, err := decode(hash); err != nil || cost != defaultCost || len(salt) != saltLength {
		t.Errorf("%s: %+v, %v", hash, cost, err)
	}
	if ok, err := api.hasher.verify(t.Context(), password, hash); !ok || err != nil {
		t.Errorf("the right password: %v, %v", ok, err)
	}
}

// TestOneHashAtATime holds that logins that wait are bounded, and leave when their client
// does.
func TestOneHashAtATime(t *testing.T) {
	h := newHasher(cheap)
	done, err := h.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range maxWaiting {
		go func() {
			_, err := h.hash(ctx, password)
			errs <- err
		}()
	}
	eventually(t, "all wait", func() bool { return len(h.waiting) == maxWaiting })
	if _, err := h.hash(t.Context(), password); err != errBusy {
		t.Errorf("one more: %v", err)
	}
	cancel()
	for range maxWaiting {
		if err := <-errs; err != context.Canceled {
			t.Errorf("a client that left: %v", err)
		}
	}
	done()
	if _, err := h.hash(t.Context(), password); err != nil {
		t.Error(err)
	}
}
