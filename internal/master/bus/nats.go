package bus

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// What stands in the way of a NATS cluster of one's own. Who knows the flags says what to do.
var (
	ErrCredentials = errors.New("the NATS server refuses these credentials")
	ErrAuthority   = errors.New("the NATS server's certificate is not good")
	ErrNoTLS       = errors.New("the NATS server has no TLS")
	ErrPermission  = errors.New("these credentials may not do what gobench needs")
	ErrJetStream   = errors.New("the account of these credentials has no JetStream, or too little of it")
)

// May are the subjects of a user of a NATS cluster.
type May struct{ Publish, Subscribe []string }

// MasterMay gives the subjects of the master, and of the agent in its process. On the
// embedded server it may do everything.
func MasterMay() May {
	own := []string{everything, beatSubject + "*", inboxPrefix + ">", joinInbox(">")}
	publish := append(slices.Clone(own), "$JS.API.INFO")
	for _, stream := range []string{"KV_" + registry, deliveries} {
		publish = append(publish,
			"$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.UPDATE."+stream, "$JS.API.STREAM.INFO."+stream,
			"$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.DELETE."+stream+".*", "$JS.API.CONSUMER.INFO."+stream+".*")
	}
	publish = append(publish, "$JS.API.CONSUMER.MSG.NEXT."+deliveries+"."+consumer, "$JS.ACK."+deliveries+".>")
	return May{Publish: publish, Subscribe: own}
}

// AgentsMay gives the subjects of an agent whose id is known, with those of its joining.
// "*" as its id is any agent's.
func AgentsMay(agent string) May {
	joiner, own := joinerMay("*"), agentMay(agent)
	return May{
		Publish:   append(joiner.Publish.Allow, own.Publish.Allow...),
		Subscribe: append(joiner.Subscribe.Allow, own.Subscribe.Allow...),
	}
}

// Servers reads the URLs of a NATS cluster's servers, which commas stand between. The
// scheme has to be named: with HOST:PORT alone agents would ask for TLS and the master
// would not. The port is NATS's own where none is named.
func Servers(text string) ([]string, error) {
	var all []string
	for s := range strings.SplitSeq(text, ",") {
		s = strings.TrimSpace(s)
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Host == "" || checkAddress(s) != nil:
			return nil, errors.New("want nats://HOST:PORT or tls://HOST:PORT, with commas between several") // not the text: it may hold a password
		case u.User != nil:
			return nil, errors.New("a user or password in the URL would be in each join token: leave it out, the file of credentials says who this is")
		}
		if u.Port() == "" && (u.Scheme == "nats" || u.Scheme == "tls") {
			u.Host += ":" + strconv.Itoa(nats.DefaultPort)
		}
		all = append(all, u.String())
	}
	return all, nil
}

// credentials reads a file as nsc makes it, with a JWT and its seed, or one with the seed
// of an nkey alone, which a server's plain configuration knows.
func credentials(path string) (nats.Option, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if _, err := nkeys.ParseDecoratedUserNKey(b); err != nil {
		return nil, fmt.Errorf("%s has no seed of a NATS user in it: want a .creds file of nsc, or the seed of an nkey (SU...)", path)
	}
	if bytes.Contains(b, []byte("BEGIN NATS USER JWT")) {
		return nats.UserCredentials(path), nil
	}
	return nats.NkeyOptionFromSeed(path)
}

// CheckCredentials tells what is wrong with a file of credentials.
func CheckCredentials(path string) error {
	_, err := credentials(path)
	return err
}

// mostAuthorities is how many bytes of certificates a join token may carry: it is a word
// of a command line.
const mostAuthorities = 16 << 10

// ReadAuthorities reads certificates of authorities, as PEM, and gives them as join tokens
// carry them: DER, one after the other.
func ReadAuthorities(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var der []byte
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			der = append(der, block.Bytes...)
		}
	}
	if len(der) == 0 {
		return nil, fmt.Errorf("%s has no certificate in it, as PEM", path)
	}
	if len(der) > mostAuthorities {
		return nil, fmt.Errorf("%s has %d bytes of certificates, and join tokens carry %d: keep the one that has signed the NATS servers' certificates", path, len(der), mostAuthorities)
	}
	if _, err := x509.ParseCertificates(der); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return der, nil
}

// signedBy accepts servers whose certificates these authorities have signed, and none
// without TLS.
func signedBy(authorities []byte) nats.Option {
	roots := x509.NewCertPool()
	all, _ := x509.ParseCertificates(authorities) // they were, where they were read; without one no server is good
	for _, c := range all {
		roots.AddCert(c)
	}
	return nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
}

// tooLittle are JetStream's errors for an account, or a server, that has no JetStream or no
// room in it, or may not make as many streams or consumers.
var tooLittle = map[int]bool{10002: true, 10023: true, 10026: true, 10027: true, 10028: true, 10039: true, 10047: true, 10076: true}

// reason adds what is in the way, where that is known.
func reason(err error) error {
	var bad *tls.CertificateVerificationError
	var api *jetstream.APIError
	known := map[error]bool{
		ErrCredentials: errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked),
		ErrAuthority:   errors.As(err, &bad),
		ErrNoTLS:       errors.Is(err, nats.ErrSecureConnWanted),
		ErrPermission:  errors.Is(err, nats.ErrPermissionViolation),
		ErrJetStream:   errors.As(err, &api) && tooLittle[int(api.ErrorCode)],
	}
	for what, so := range known {
		if so {
			return fmt.Errorf("%w: %w", what, err)
		}
	}
	return err
}
