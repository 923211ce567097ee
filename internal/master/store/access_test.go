package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

func hash(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }

func user(t *testing.T, s *Store, name string) *auth.User {
	t.Helper()
	u := &auth.User{ID: "id-" + name, Name: name, Role: auth.Tester, Password: "$argon2id$...", Created: base}
	must(t, s.PutUser(t.Context(), u))
	return u
}

func TestUsers(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		u := user(t, s, "Zoë")
		for _, name := range []string{"Zoë", "ZOË", "zoË"} {
			got, err := s.UserNamed(ctx, name)
			must(t, err)
			if !reflect.DeepEqual(got, u) || got.Version != 1 {
				t.Errorf("%q is %+v, want %+v", name, got, u)
			}
			wantErr(t, s.PutUser(ctx, &auth.User{ID: "other", Name: name, Role: auth.Viewer}), run.ErrConflict)
		}
		wantErr(t, s.PutUser(ctx, &auth.User{ID: u.ID, Name: "fresh", Role: auth.Viewer}), run.ErrConflict)
		mine, theirs := *u, *u
		mine.Disabled, mine.Role, mine.Name = true, auth.Admin, "zoë"
		must(t, s.PutUser(ctx, &mine))
		wantErr(t, s.PutUser(ctx, &theirs), run.ErrConflict)
		if got, err := s.User(ctx, u.ID); err != nil || !reflect.DeepEqual(got, &mine) || got.Version != 2 {
			t.Errorf("changed to %+v, %v", got, err)
		}
		user(t, s, "K") // and the kelvin sign has the same lower case
		wantErr(t, s.PutUser(ctx, &auth.User{ID: "kelvin", Name: "\u212A", Role: auth.Viewer}), run.ErrConflict)
		wantErr(t, s.PutUser(ctx, &auth.User{ID: "none", Name: "n", Role: auth.Viewer, Version: 1}), run.ErrNotFound)
		for _, bad := range []auth.User{{Name: "x", Role: auth.Viewer}, {ID: "x", Role: auth.Viewer}, {ID: "x", Name: "x", Role: "root"}} {
			var wrong *run.InputError
			if err := s.PutUser(ctx, &bad); !errors.As(err, &wrong) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		for _, name := range []string{"", "none", "Zo%", "' OR 1=1 --"} {
			_, err := s.UserNamed(ctx, name)
			wantErr(t, err, run.ErrNotFound)
		}
		if all, err := s.Users(ctx); err != nil || len(all) != 2 {
			t.Errorf("Users: %v, %v", all, err)
		}
	})
}

// Two transactions create the same user at the same time: one succeeds.
func TestUsersAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				err := s.PutUser(ctx, &auth.User{ID: fmt.Sprint(i), Name: []string{"ann", "Ann"}[i%2], Role: auth.Viewer})
				if err != nil && !errors.Is(err, run.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if all, err := s.Users(ctx); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	})
}

func TestSessions(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		u, v := user(t, s, "ann"), user(t, s, "bob")
		put := func(h string, u *auth.User, created, seen time.Duration) *auth.Session {
			t.Helper()
			x := &auth.Session{Hash: hash(h), User: u.ID, Created: base.Add(created), Seen: base.Add(seen)}
			must(t, s.PutSession(ctx, x))
			return x
		}
		there := func(hs ...string) {
			t.Helper()
			var got []string
			for _, h := range []string{"1", "2", "3", "4"} {
				if _, err := s.Session(ctx, hash(h)); err == nil {
					got = append(got, h)
				} else {
					wantErr(t, err, run.ErrNotFound)
				}
			}
			if !slices.Equal(got, hs) {
				t.Errorf("sessions %v, want %v", got, hs)
			}
		}
		put("1", u, 0, 0)
		x := put("1", u, 0, time.Hour)
		if got, err := s.Session(ctx, x.Hash); err != nil || !reflect.DeepEqual(got, x) {
			t.Errorf("%+v, %v", got, err)
		}
		wantErr(t, s.PutSession(ctx, &auth.Session{Hash: hash("1"), User: v.ID}), run.ErrConflict)
		wantErr(t, s.PutSession(ctx, &auth.Session{Hash: hash("9"), User: "none"}), run.ErrNotFound)
		put("2", u, 0, 0)
		put("3", v, time.Hour, time.Hour)
		put("4", v, -time.Hour, time.Hour)
		must(t, s.DeleteOldSessions(ctx, base.Add(time.Minute), base))
		there("1", "3")
		must(t, s.DeleteSession(ctx, hash("3")))
		must(t, s.DeleteSession(ctx, hash("3")))
		there("1")
		put("2", v, 0, 0)
		must(t, s.DeleteSessionsOf(ctx, u.ID))
		there("2")
		_, err := s.Session(ctx, nil)
		wantErr(t, err, run.ErrNotFound)
	})
}

func TestTokens(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		u, v := user(t, s, "ann"), user(t, s, "bob")
		x := &auth.Token{ID: "t1", Name: "ci", User: u.ID, Role: auth.Viewer, Hash: hash("x"), Created: base, Expires: base.Add(time.Hour)}
		must(t, s.PutToken(ctx, x))
		must(t, s.PutToken(ctx, &auth.Token{ID: "t2", User: v.ID, Role: auth.Viewer, Hash: hash("y"), Created: base}))
		x.Used, x.Revoked = base.Add(time.Minute), base.Add(2*time.Minute)
		must(t, s.PutToken(ctx, x))
		late := *x
		late.Used, late.Revoked = base, time.Time{} // by a caller who read it before: it stays revoked
		must(t, s.PutToken(ctx, &late))
		if got, err := s.Token(ctx, "t1"); err != nil || !reflect.DeepEqual(got, x) {
			t.Errorf("%+v, %v", got, err)
		}
		more := *x
		more.Role = auth.Admin
		wantErr(t, s.PutToken(ctx, &more), run.ErrConflict)
		more = *x
		more.User = v.ID
		wantErr(t, s.PutToken(ctx, &more), run.ErrConflict)
		more.ID, more.User = "t3", "none"
		wantErr(t, s.PutToken(ctx, &more), run.ErrNotFound)
		_, err := s.Token(ctx, "none")
		wantErr(t, err, run.ErrNotFound)
		mine, err := s.Tokens(ctx, u.ID)
		must(t, err)
		all, err := s.Tokens(ctx, "")
		must(t, err)
		if len(mine) != 1 || len(all) != 2 {
			t.Errorf("%d of one user, %d of all", len(mine), len(all))
		}
	})
}

func TestAuditIsAChain(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		must(t, s.verifyAudit(ctx))
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				en := &auth.Entry{Time: base, User: "ann", Action: "run.submit", Object: fmt.Sprint(i), Detail: "a \x00 \xff", Result: "ok"}
				if err := s.Audit(ctx, en); err != nil || en.Number == 0 || len(en.Chain) != 32 {
					t.Errorf("%+v, %v", en, err)
				}
			})
		}
		wg.Wait()
		must(t, s.verifyAudit(ctx))
		page, err := s.Entries(ctx, 0, 10)
		must(t, err)
		rest, err := s.Entries(ctx, page[9].Number, 100)
		must(t, err)
		if len(page) != 10 || page[0].Number != 30 || len(rest) != 20 || rest[0].Number != 20 || rest[19].Number != 1 || !page[0].Time.Equal(base) {
			t.Errorf("pages of %d and %d", len(page), len(rest))
		}
		spoil := func(change, back, want string) {
			t.Helper()
			if _, err := s.w.ExecContext(ctx, change); err != nil {
				t.Fatal(err)
			}
			if err := s.verifyAudit(ctx); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", change, err, want)
			}
			if _, err := s.w.ExecContext(ctx, back); err != nil {
				t.Fatal(err)
			}
			must(t, s.verifyAudit(ctx))
		}
		spoil(`UPDATE audit SET result = 'denied' WHERE number = 7`, `UPDATE audit SET result = 'ok' WHERE number = 7`, "entry 7 ")
		spoil(`UPDATE audit SET username = 'annr', action = 'un.submit' WHERE number = 1`, `UPDATE audit SET username = 'ann', action = 'run.submit' WHERE number = 1`, "entry 1 ")
		spoil(`UPDATE audit SET at = at + 1 WHERE number = 30`, `UPDATE audit SET at = at - 1 WHERE number = 30`, "entry 30 ")
		spoil(`CREATE TABLE kept AS SELECT * FROM audit WHERE number = 12; DELETE FROM audit WHERE number = 12`,
			`INSERT INTO audit SELECT * FROM kept; DROP TABLE kept`, "entry 12 of the audit log is missing")
		spoil(`CREATE TABLE kept AS SELECT * FROM audit WHERE number > 28; DELETE FROM audit WHERE number > 28`,
			`INSERT INTO audit SELECT * FROM kept; DROP TABLE kept`, "entry 29 of the audit log is missing: the log was cut off")
	})
}

func TestReplies(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		r := &auth.Reply{User: "u", Key: "k", Request: hash("r"), Status: 201, Type: "application/json", Body: []byte(`{"a":"\u0000"}`), Created: base}
		if got, err := s.Reply(ctx, "u", "k"); got != nil || err != nil {
			t.Errorf("before: %v, %v", got, err)
		}
		must(t, s.PutReply(ctx, r))
		wantErr(t, s.PutReply(ctx, r), run.ErrConflict)
		if got, err := s.Reply(ctx, "u", "k"); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v, %v", got, err)
		}
		for _, who := range [][2]string{{"v", "k"}, {"u", "K"}} {
			if got, err := s.Reply(ctx, who[0], who[1]); got != nil || err != nil {
				t.Errorf("%v: %v, %v", who, got, err)
			}
		}
		must(t, s.DeleteOldReplies(ctx, base))
		if got, _ := s.Reply(ctx, "u", "k"); got == nil {
			t.Error("deleted too early")
		}
		must(t, s.DeleteOldReplies(ctx, base.Add(1)))
		if got, _ := s.Reply(ctx, "u", "k"); got != nil {
			t.Error("not deleted")
		}
	})
}

func TestAgents(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		a := &run.Agent{ID: "a", Name: "host\x00", Key: "UA", Joined: base, Hello: []byte{1, 0, 2}}
		must(t, s.PutAgent(ctx, a))
		a.Name, a.Seen, a.Revoked = "host", base.Add(1), base.Add(2)
		must(t, s.PutAgent(ctx, a))
		if got, err := s.Agent(ctx, "a"); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%+v, %v", got, err)
		}
		wantErr(t, s.PutAgent(ctx, &run.Agent{ID: "b", Key: "UA"}), run.ErrConflict)
		must(t, s.PutAgent(ctx, &run.Agent{ID: "b", Key: "UB", Joined: base.Add(-1)}))
		_, err := s.Agent(ctx, "c")
		wantErr(t, err, run.ErrNotFound)
		if all, err := s.Agents(ctx); err != nil || len(all) != 2 || all[0].ID != "b" {
			t.Errorf("%v, %v", all, err)
		}
	})
}

func TestSettings(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		if v, err := s.Setting(ctx, "x"); v != nil || err != nil {
			t.Errorf("before: %v, %v", v, err)
		}
		for _, v := range [][]byte{{1, 0}, {}, {2}} {
			must(t, s.PutSetting(ctx, "x", v))
			if got, err := s.Setting(ctx, "x"); err != nil || got == nil || !bytes.Equal(got, v) {
				t.Errorf("%v, %v", got, err)
			}
		}
	})
}

// Fifty callers spend a token at the same time: one succeeds, and no one does later, with a
// wrong secret or after its expiry.
func TestJoinTokensAreSpentOnce(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		j := &run.JoinToken{ID: "j", Hash: hash("secret"), Created: base, Expires: base.Add(time.Minute), By: "ann"}
		must(t, s.PutJoinToken(ctx, j))
		if got, err := s.JoinToken(ctx, "j"); err != nil || !reflect.DeepEqual(got, j) {
			t.Errorf("%+v, %v", got, err)
		}
		wantErr(t, s.SpendJoinToken(ctx, "none", hash("secret"), "a", base), run.ErrNotFound)
		wantErr(t, s.SpendJoinToken(ctx, "j", hash("secrets"), "a", base), run.ErrNotFound)
		wantErr(t, s.SpendJoinToken(ctx, "j", nil, "a", base), run.ErrNotFound)
		wantErr(t, s.SpendJoinToken(ctx, "j", hash("secret"), "a", j.Expires), run.ErrConflict)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var winner string
		for i := range 50 {
			wg.Go(func() {
				agent := fmt.Sprint("agent", i)
				err := s.SpendJoinToken(ctx, "j", hash("secret"), agent, base.Add(time.Second))
				mu.Lock()
				defer mu.Unlock()
				if err == nil && winner == "" {
					winner = agent
				} else if !errors.Is(err, run.ErrConflict) {
					t.Errorf("%s: %v, and %s has it", agent, err, winner)
				}
			})
		}
		wg.Wait()
		wantErr(t, s.PutJoinToken(ctx, j), run.ErrConflict) // which would make it new again
		all, err := s.JoinTokens(ctx)
		j.Spent, j.Agent = base.Add(time.Second), winner
		if err != nil || len(all) != 1 || winner == "" || !reflect.DeepEqual(&all[0], j) {
			t.Errorf("%+v, %v", all, err)
		}
		if got, err := s.JoinToken(ctx, "j"); err != nil || !reflect.DeepEqual(got, j) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
