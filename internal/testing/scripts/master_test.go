package scripts

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// masterCache is the compiler's folder of all masters of the scripts: where the tests are
// root, it belongs to a user who can't see their home.
func masterCache(t *testing.T) string {
	dir, err := os.MkdirTemp("", "gobench-cache-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		binary.MakeWritable(dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "build")
}

// ready waits until a master's log says that it is ready, and puts where its API is into
// a variable, and where agents connect into VARIABLE_AGENTS: ready FILE VARIABLE.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, false, []string{args[0], "gobench is ready"})
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	for lines.Scan() {
		var line struct{ Msg, API, Agents string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			ts.Fatalf("%s: %q is no JSON: %v", args[0], lines.Text(), err)
		}
		if line.Msg == "gobench is ready" {
			ts.Setenv(args[1], strings.TrimSuffix(line.API, "/"))
			ts.Setenv(args[1]+"_AGENTS", line.Agents)
			return
		}
	}
}

// certificate writes a server's certificate for 127.0.0.1, its key, and the certificate of
// who signed it: certificate CERT KEY CA.
func certificate(ca *servers.CA, t *testing.T) func(*testscript.TestScript, bool, []string) {
	cert, key := ca.PEM(t, servers.Leaf{})
	return func(ts *testscript.TestScript, _ bool, args []string) {
		for i, data := range [][]byte{cert, key, ca.Root()} {
			ts.Check(os.WriteFile(ts.MkAbs(args[i]), data, 0o600))
		}
	}
}

// mutual has the target listen with TLS, too, where clients show a certificate of the same
// authority, and puts that into a variable: mutual VARIABLE.
func mutual(ca *servers.CA, t *testing.T) func(*testscript.TestScript, bool, []string) {
	own := ca.Certificate(t, servers.Leaf{})
	return func(ts *testscript.TestScript, _ bool, args []string) {
		srv := httptest.NewUnstartedServer(ts.Value(targetKey{}).(*servers.Target).Config.Handler)
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
		srv.StartTLS()
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL)
	}
}
