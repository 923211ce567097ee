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

// Errors of a connection to a NATS cluster. The command line adds a hint to each.
var (
	ErrCredentials = errors.New("the NATS server refuses these credentials")
	ErrAuthority   = errors.New("the NATS server's certificate is not valid")
	ErrNoTLS       = errors.New("the NATS server has no TLS")
	ErrPermission  = errors.New("these credentials may not do what gobench needs")
	ErrJetStream   = errors.New("the account of these credentials has no JetStream, or too little of it")
)

// May lists the subjects that a user of a NATS cluster may publish and subscribe to.
type May struct{ Publish, Subscribe []string }

// MasterMay returns the subjects of the master and of the agent in its process, for a NATS
// cluster. On the embedded server the master may use all subjects. The slices are new.
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

// AgentsMay returns the subjects of the agent with this id, including those for joining.
// The id "*" stands for all agents.
func AgentsMay(agent string) May {
	joiner, own := joinerMay("*"), agentMay(agent)
	return May{
		Publish:   append(joiner.Publish.Allow, own.Publish.Allow...),
		Subscribe: append(joiner.Subscribe.Allow, own.Subscribe.Allow...),
	}
}

// Servers parses the URLs of a NATS cluster's servers, separated by commas, and returns them;
// nats and tls URLs without a port get NATS's. A scheme is required: with HOST:PORT alone
// agents would use TLS and the master would not. A user in a URL is an error. The error does
// not repeat the text, which may have a password.
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

// credentials returns the option for a file of credentials: one by nsc, with a JWT and its
// seed, or one with only the seed of an nkey, for servers with a static configuration. The
// client may read the file again later.
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

// CheckCredentials returns an error if a file of credentials can't be read or has no valid
// seed of a user. It does not connect.
func CheckCredentials(path string) error {
	_, err := credentials(path)
	return err
}

// mostAuthorities is the maximum size of the certificates in a join token, in bytes: a token
// is an argument on a command line.
const mostAuthorities = 16 << 10

// ReadAuthorities reads certificates of authorities from a PEM file and returns them in the
// form of join tokens: DER, concatenated. It ignores other blocks. It is an error if there is
// no certificate, or if they have more than 16 KiB.
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

// signedBy returns an option that accepts only servers with TLS whose certificates these
// authorities (DER) have signed; without any, no server is accepted.
func signedBy(authorities []byte) nats.Option {
	roots := x509.NewCertPool()
	all, _ := x509.ParseCertificates(authorities) // checked when they were read; without any, no server is accepted
	for _, c := range all {
		roots.AddCert(c)
	}
	return nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
}

// tooLittle are JetStream's error codes for an account or server without JetStream, without
// enough space, or with too low limits of streams or consumers.
var tooLittle = map[int]bool{10002: true, 10023: true, 10026: true, 10027: true, 10028: true, 10039: true, 10047: true, 10076: true}

// reason wraps err with one of the errors above, if one applies, and otherwise returns it
// unchanged.
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
