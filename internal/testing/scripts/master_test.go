package scripts

import (
	"crypto/tls"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// ready waits until a master's log has the line of its start, and puts the API's address into
// a variable and that for agents into VARIABLE_AGENTS: ready FILE VARIABLE.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, false, []string{args[0], "gobench is ready"})
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if api, agents := binary.ReadyLine([]byte(line)); api != "" {
			ts.Setenv(args[1], api)
			ts.Setenv(args[1]+"_AGENTS", agents)
			return
		}
	}
}

// certificate writes a server's certificate for 127.0.0.1, its key, and the certificate of
// its authority: certificate CERT KEY CA.
func certificate(ca *servers.CA, t *testing.T) func(*testscript.TestScript, bool, []string) {
	cert, key := ca.PEM(t, servers.Leaf{})
	return func(ts *testscript.TestScript, _ bool, args []string) {
		for i, data := range [][]byte{cert, key, ca.Root()} {
			ts.Check(os.WriteFile(ts.MkAbs(args[i]), data, 0o600))
		}
	}
}

// mutual lets the target listen with TLS, too, for clients with a certificate of the same
// authority, and puts that URL into a variable: mutual VARIABLE.
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
