//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
)

// password is the admin's.
const password = "a password of a test"

// tokens are the API tokens that every master of a test knows.
type tokens struct{ admin, viewer string }

// prepared is the database of a master that was started once: it has its keys, an admin
// and two API tokens. The masters of tests begin with a copy, which saves each of them the
// migrations and the hashes of the password.
var prepared struct {
	once     sync.Once
	database []byte
	tokens   tokens
}

// prepare copies the prepared database, made by the first call, to the master, which is not
// started yet, and sets c.tokens. Call it once, before serve.
func (c *Cluster) prepare(t testing.TB) {
	t.Helper()
	prepared.once.Do(func() { prepareOnce(t) })
	if prepared.database == nil {
		t.Fatal("no database was prepared: an earlier test has the reason")
	}
	c.tokens = prepared.tokens
	if err := os.MkdirAll(filepath.Dir(c.Database()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Database(), prepared.database, 0o600); err != nil {
		t.Fatal(err)
	}
}

// prepareOnce makes the prepared database by a master of its own, which it stops; if it
// fails, later tests have no database.
func prepareOnce(t testing.TB) {
	h := here("prepared")
	c := &Cluster{Master: &Node{Host: h, Dir: t.TempDir()}, url: "http://" + h.Address + ":8080", http: &http.Client{Timeout: 30 * time.Second}}
	c.Master.Process = h.Start(t, []string{"GOBENCH_ADMIN_PASSWORD=" + password, "GOBENCH_NO_WARM=1"},
		"serve", "--no-agent", "--dir", c.Master.Dir, "--addr", h.Address+":8080", "--agent-addr", h.Address+":8081", "--cache", binary.CompilerCache(t))
	Eventually(t, time.Minute, func() string {
		if status, _, err := c.try("GET", "/healthz", nil); err != nil || status != http.StatusOK {
			return fmt.Sprintf("the master does not answer: %d %v", status, err)
		}
		return ""
	})
	c.Login(t)
	for role, text := range map[string]*string{"admin": &prepared.tokens.admin, "viewer": &prepared.tokens.viewer} {
		var made struct{ Text string }
		c.Do(t, "POST", "/api/v1/tokens", map[string]any{"name": role, "role": role}, &made)
		*text = made.Text
	}
	c.Master.Signal(syscall.SIGTERM)
	if status := c.Master.Wait(t, time.Minute); status != 0 {
		t.Fatalf("the master ended with status %d", status)
	}
	b, err := os.ReadFile(c.Database())
	if err != nil {
		t.Fatal(err)
	}
	prepared.database = b
}
