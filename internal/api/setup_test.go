package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

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
