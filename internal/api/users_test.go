package api

import (
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

func TestTokens(t *testing.T) {
	at := newClock()
	r := serve(t, Options{Now: at.now}).people()
	cookie := r.in("operator")
	create := func(body string) reply { return r.ask("", "POST", "/api/v1/tokens", body, "Cookie", cookie) }
	made := decode200[types.MadeToken](t, create(`{"name":"pipeline","role":"tester","days":1}`))
	if made.Role != auth.Tester || !made.Expires.Equal(at.now().Add(24*time.Hour)) || !strings.HasPrefix(made.Text, "gbt_"+made.ID+"_") {
		t.Errorf("made %+v", made)
	}
	plain := decode200[types.MadeToken](t, create(`{"name":"plain"}`))
	if plain.Role != auth.Operator || !plain.Expires.Equal(at.now().Add(tokenLife)) {
		t.Errorf("without wishes: %+v", plain)
	}
	for body, want := range map[string]int{
		`{"name":"x","role":"admin"}`: 422, `{"name":"x","role":"root"}`: 422, `{"name":""}`: 422, `{"name":"x","days":0}`: 422, `{"name":"x","days":-1}`: 422, `{"name":"x","days":36500}`: 422,
	} {
		if got := create(body); got.StatusCode != want {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
	}
	if got := r.ask(made.Text, "POST", "/api/v1/tokens", `{"name":"x"}`); got.StatusCode != 403 || got.problem(t).Code != "session_required" {
		t.Errorf("by a token: %d %s", got.StatusCode, got.body)
	}
	me := func(token string) int { return r.ask(token, "GET", "/api/v1/me", "").StatusCode }
	if me(made.Text) != 200 || me(made.Text+"x") != 401 || me("gbt_"+made.ID+"_"+auth.NewSecret()) != 401 || me("gbt_"+auth.NewID()+"_"+auth.NewSecret()) != 401 {
		t.Error("tokens that are none let in")
	}
	for _, header := range []string{"Basic " + made.Text, made.Text, "bearer " + made.Text, "Bearer  " + made.Text} {
		if got := r.ask("", "GET", "/api/v1/me", "", "Authorization", header); got.StatusCode != 401 || got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%.12q lets in: %d", header, got.StatusCode)
		}
	}
	at.add(2 * time.Minute)
	me(made.Text)
	for _, tok := range r.store.tokens {
		if tok.ID == made.ID && !tok.Used.Equal(at.now()) {
			t.Errorf("last used %v", tok.Used)
		}
	}
	list := r.ask("", "GET", "/api/v1/tokens", "", "Cookie", cookie)
	if n := len(decode200[types.List[auth.Token]](t, list).Items); n != 3 || strings.Contains(list.body, "hash") || strings.Contains(list.body, made.Text) {
		t.Errorf("list: %s", list.body)
	}
	if got := r.ask("", "GET", "/api/v1/tokens?user=all", "", "Cookie", cookie); got.StatusCode != 403 {
		t.Errorf("of all: %d", got.StatusCode)
	}
	if got := decode200[types.List[auth.Token]](t, r.ask(r.tokens[auth.Admin], "GET", "/api/v1/tokens?user=all", "")); len(got.Items) != 6 {
		t.Errorf("of all, as admin: %d", len(got.Items))
	}
	// A token has at most its owner's role at the time.
	u, _ := r.store.UserNamed(t.Context(), "operator")
	r.ask(r.tokens[auth.Admin], "PATCH", "/api/v1/users/"+u.ID, `{"role":"viewer"}`, "If-Match", "*")
	if got := r.ask(made.Text, "POST", "/api/v1/runs", submission("x")); got.StatusCode != 403 {
		t.Errorf("of a user who is viewer now: %d", got.StatusCode)
	}
	at.add(24 * time.Hour)
	if me(made.Text) != 401 || me(plain.Text) != 200 {
		t.Error("expiry")
	}
	if got := r.ask("", "DELETE", "/api/v1/tokens/"+plain.ID, "", "Authorization", "Bearer "+plain.Text); got.StatusCode != 204 || me(plain.Text) != 401 {
		t.Errorf("revoked: %d, then %d", got.StatusCode, me(plain.Text))
	}
}

func TestUsers(t *testing.T) {
	r := serve(t, Options{}).people()
	admin := r.tokens[auth.Admin]
	created := r.ask(admin, "POST", "/api/v1/users", `{"name":"ann","role":"tester","password":"`+password+`"}`)
	ann := decode200[auth.User](t, created)
	if created.StatusCode != 201 || created.Header.Get("ETag") != `"1"` || strings.Contains(created.body, "argon2id") {
		t.Errorf("%d %s", created.StatusCode, created.body)
	}
	if got := r.ask(admin, "POST", "/api/v1/users", `{"name":"Ann","role":"tester","password":"`+password+`"}`); got.StatusCode != 409 {
		t.Errorf("a name twice: %d %s", got.StatusCode, got.body)
	}
	if got := r.ask(admin, "PATCH", "/api/v1/users/"+ann.ID, `{"role":"root"}`, "If-Match", "*"); got.StatusCode != 422 {
		t.Errorf("no role: %d %s", got.StatusCode, got.body)
	}
	self, _ := r.store.UserNamed(t.Context(), "admin")
	for _, body := range []string{`{"role":"operator"}`, `{"disabled":true}`} {
		if got := r.ask(admin, "PATCH", "/api/v1/users/"+self.ID, body, "If-Match", "*"); got.StatusCode != 409 {
			t.Errorf("the last admin, %s: %d %s", body, got.StatusCode, got.body)
		}
	}
	if n := len(decode200[types.List[auth.User]](t, r.ask(admin, "GET", "/api/v1/users", "")).Items); n != 5 {
		t.Errorf("%d users", n)
	}
	page := decode200[types.Page[auth.Entry]](t, r.ask(admin, "GET", "/api/v1/audit?limit=2", ""))
	if len(page.Items) != 2 || page.Items[0].Action != "user.change" || page.Items[0].Result != "failed" || page.Items[0].User != "admin" || page.Items[0].Address != "127.0.0.1" || page.Next == "" {
		t.Errorf("audit: %+v", page)
	}
	older := decode200[types.Page[auth.Entry]](t, r.ask(admin, "GET", "/api/v1/audit?before="+page.Next, ""))
	if len(older.Items) == 0 || older.Items[0].Number != page.Items[1].Number-1 || older.Next != "" {
		t.Errorf("older: %+v", older)
	}
}
