package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// NATSCredentials makes an operator with one account, as NATS clusters have them. It
// returns the lines to be added to a server's configuration, and the path of a file of
// credentials for a user of the account, which exists until the test's end.
func NATSCredentials(t testing.TB) (conf, creds string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		t.Helper()
		k, err := make()
		must(err)
		pub, err := k.PublicKey()
		must(err)
		return k, pub
	}
	operator, operatorKey := pair(nkeys.CreateOperator)
	account, accountKey := pair(nkeys.CreateAccount)
	_, systemKey := pair(nkeys.CreateAccount)
	user, userKey := pair(nkeys.CreateUser)
	oc := jwt.NewOperatorClaims(operatorKey)
	oc.SystemAccount = systemKey
	otext, err := oc.Encode(operator)
	must(err)
	stext, err := jwt.NewAccountClaims(systemKey).Encode(operator)
	must(err)
	ac := jwt.NewAccountClaims(accountKey)
	ac.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	atext, err := ac.Encode(operator)
	must(err)
	utext, err := jwt.NewUserClaims(userKey).Encode(account)
	must(err)
	seed, err := user.Seed()
	must(err)
	file, err := jwt.FormatUserConfig(utext, seed)
	must(err)
	creds = filepath.Join(t.TempDir(), "gobench.creds")
	must(os.WriteFile(creds, file, 0o600))
	return fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		otext, systemKey, systemKey, stext, accountKey, atext), creds
}

// NATSOfThree starts three nats-servers that make one cluster, and returns them, their
// addresses in one text, with commas, and the path of a file of credentials for them.
func NATSOfThree(t testing.TB) (servers []*NATSServer, urls, creds string) {
	t.Helper()
	conf, creds := NATSCredentials(t)
	servers = NATSCluster(t, 3, conf)
	var all []string
	for _, s := range servers {
		all = append(all, s.URL)
	}
	return servers, strings.Join(all, ","), creds
}
