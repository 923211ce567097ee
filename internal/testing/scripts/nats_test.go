package scripts

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nkeys"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/testing/docs"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// natsServer starts a nats-server with TLS as docs/nats.md describes: with the configuration of
// the page, new keys for its users, and a certificate of ca. It writes the seeds of the users, the
// seed of a user that is unknown to the server, and the certificate of another authority into
// files, and puts the server's URL into a variable: nats VARIABLE MASTER AGENTS STRANGER STRAY.
func natsServer(ca *servers.CA) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		t := ts.Value(testKey{}).(testing.TB)
		conf := ""
		for _, b := range docs.Blocks(t, "docs/nats.md") {
			if b.Kind == "conf" {
				conf = b.Text
			}
		}
		for i, name := range []string{"MASTER", "AGENTS", "STRANGER"} {
			pair, err := nkeys.CreateUser()
			ts.Check(err)
			key, err := pair.PublicKey()
			ts.Check(err)
			seed, err := pair.Seed()
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(args[1+i]), append(seed, '\n'), 0o600))
			conf = strings.Replace(conf, "nkey: "+name+",", "nkey: "+key+",", 1)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[4]), servers.NewCA(t).Root(), 0o600))
		// The test has its own directory and certificate for the server.
		var lines []string
		for line := range strings.Lines(conf) {
			if !strings.HasPrefix(line, "tls ") && !strings.HasPrefix(line, "jetstream ") {
				lines = append(lines, line)
			}
		}
		s := servers.NATSCluster(t, 1, servers.NATSTLS(t, ca)+strings.Join(lines, ""))[0]
		ts.Setenv(args[0], strings.Replace(s.URL, "nats://", "tls://", 1))
	}
}

// postgres starts a PostgreSQL and puts the URL of an empty database into a variable:
// postgres VARIABLE.
func postgres(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testKey{}).(testing.TB)
	ts.Setenv(args[0], servers.Postgres(t).Database(t))
}

// sql executes a statement in a PostgreSQL database: sql URL STATEMENT.
func sql(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, args[0])
	ts.Check(err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, args[1])
	ts.Check(err)
}
