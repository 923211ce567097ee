package bus

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/gobench-io/gobench/internal/run/system"
)

// years is the validity of certificates. It may be long, as agents pin the authority and no
// one else trusts it.
const years = 20

// authority is the certificate authority that signs the server's certificate. It is created
// once and stored with the master's data.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// openAuthority reads the authority from ca.pem in dir, which must exist, or creates it there
// if there is no file: certificate and key, with mode 0600. A damaged file is an error and
// stays as it is, since all agents pin its authority.
func openAuthority(dir string) (*authority, error) {
	path := filepath.Join(dir, "ca.pem")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if b, err = newAuthority(); err == nil {
			err = system.ReplaceBytes(path, b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("certificate authority of the bus: %w", err)
	}
	var a authority
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE":
			a.cert, err = x509.ParseCertificate(block.Bytes)
		case "EC PRIVATE KEY":
			a.key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return nil, fmt.Errorf("certificate authority of the bus: %s: %w", path, err)
		}
	}
	if a.cert == nil || a.key == nil || !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return nil, fmt.Errorf("certificate authority of the bus: %s is damaged: put it back from a backup; without it all agents must join again", path)
	}
	return &a, nil
}

// newAuthority returns the content of a new authority's file: its certificate and then its
// key, as PEM.
func newAuthority() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := certificate("gobench bus authority")
	c.IsCA, c.BasicConstraintsValid, c.MaxPathLenZero = true, true, true
	c.KeyUsage = x509.KeyUsageCertSign
	cert, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...), nil
}

// certificate returns a template with the common fields of all certificates: a random serial
// number, the name and the validity. The caller adds what the key may be used for.
func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // rand.Reader does not fail
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().AddDate(-1, 0, 0), // agents' clocks may be wrong
		NotAfter:     time.Now().AddDate(years, 0, 0),
	}
}

// pin returns the digest by which agents recognize the authority.
func (a *authority) pin() [32]byte { return sha256.Sum256(a.cert.Raw) }

// server returns the TLS configuration of the bus's port, with a new key and certificate: they
// are created at each start, for a fixed name instead of the master's addresses, which may
// change.
func (a *authority) server() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := certificate(serverName)
	c.KeyUsage, c.ExtKeyUsage, c.DNSNames = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []string{serverName}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}},
	}, nil
}

// serverName is the name in the server's certificate.
const serverName = "bus.gobench"

// ErrPin means that the server at a master's address is not that master.
var ErrPin = errors.New("the server at this address is not the master that the join token was made by: its certificate has another authority")

// pinned returns a TLS configuration that accepts only servers whose certificate is signed by
// the authority with this pin. With a server that does not send this authority, the handshake
// fails with ErrPin.
func pinned(pin [32]byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		ServerName:         serverName,
		InsecureSkipVerify: true, // VerifyConnection does
		VerifyConnection: func(s tls.ConnectionState) error {
			for _, c := range s.PeerCertificates[1:] {
				if sum := sha256.Sum256(c.Raw); !bytes.Equal(sum[:], pin[:]) {
					continue
				}
				roots := x509.NewCertPool()
				roots.AddCert(c)
				_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: serverName, Roots: roots})
				return err
			}
			return ErrPin
		},
	}
}
