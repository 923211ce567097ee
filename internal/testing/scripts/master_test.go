package scripts

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// warmMasters fills the compiler's cache of the masters, which may be another one than this
// user's, with what all scenarios share. Else the scripts would compile that side by side.
func warmMasters(t *testing.T, cache string) error {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "warm.go")
	if err := os.WriteFile(scenario, []byte(warming), 0o600); err != nil {
		return err
	}
	env := append(os.Environ(), binary.NoWarm, "HOME="+dir, "TMPDIR=/tmp", "GOBENCH_ADMIN_PASSWORD=correct horse battery", "GOBENCH_PASSWORD=correct horse battery")
	master := binary.Command(t, "serve", "--addr", "127.0.0.1:0", "--agent-addr", "127.0.0.1:0", "--cache", cache)
	master.Env = env
	log, err := master.StderrPipe()
	if err == nil {
		err = master.Start()
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = master.Process.Signal(os.Interrupt)
		_ = master.Wait()
	}()
	url := ""
	for lines := bufio.NewScanner(log); url == "" && lines.Scan(); {
		url, _ = readyLine(lines.Bytes())
	}
	var said bytes.Buffer
	read := make(chan struct{})
	go func() { _, _ = io.Copy(&said, log); close(read) }()
	for _, args := range [][]string{{"login", url, "--name", "admin"}, {"run", scenario, "--master", url, "-q"}} {
		cmd := binary.Command(t, args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			_ = master.Process.Signal(os.Interrupt)
			<-read
			return fmt.Errorf("gobench %s: %w\n%s\nthe master's log: %s", args[0], err, out, &said)
		}
	}
	return nil
}

// warming is a scenario of one user who does nothing.
const warming = `package main

import (
	"context"

	_ "github.com/gobench-io/gobench/clients/http"
	_ "github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return scenario.Vus{{Nu: 1, Fu: func(context.Context, int) {}}} }
`

// readyLine returns the addresses of the API and for agents, without a slash at the end, from
// the line of a master's log that has them.
func readyLine(line []byte) (api, agents string) {
	var l struct{ Msg, API, Agents string }
	if json.Unmarshal(line, &l) != nil || l.Msg != "gobench is ready" {
		return "", ""
	}
	return strings.TrimSuffix(l.API, "/"), l.Agents
}

// ready waits until a master's log has the line of its start, and puts the API's address into
// a variable and that for agents into VARIABLE_AGENTS: ready FILE VARIABLE. It waits until the
// masters' compiler is warm, too.
func ready(warm func() error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(warm())
		eventually(ts, false, []string{args[0], "gobench is ready"})
		for line := range strings.Lines(ts.ReadFile(args[0])) {
			if api, agents := readyLine([]byte(line)); api != "" {
				ts.Setenv(args[1], api)
				ts.Setenv(args[1]+"_AGENTS", agents)
				return
			}
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
