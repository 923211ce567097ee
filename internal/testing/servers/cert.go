package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// CA signs certificates for servers of tests.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Leaf describes the certificate of a server, or a client. The zero value is valid for
// 127.0.0.1, ::1 and localhost.
type Leaf struct {
	Names   []string // DNS names, instead of those above
	Expired bool     // since yesterday
}

// NewCA returns a new certificate authority, valid for two days, that is trusted only by
// users of its Pool.
func NewCA(t testing.TB) *CA {
	t.Helper()
	key := newKey(t)
	cert := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "gobench test CA"},
		NotBefore:    time.Now().Add(-48 * time.Hour),
		NotAfter:     time.Now().Add(48 * time.Hour),
		IsCA:         true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, nil, key, key)
	return &CA{cert, key}
}

// Pool returns the pool that trusts this authority.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// Root returns the authority's own certificate in PEM.
func (ca *CA) Root() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// PEM returns a new certificate and its key (PKCS #8), each as one PEM block.
func (ca *CA) PEM(t testing.TB, l Leaf) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "gobench test server"},
		NotBefore:    ca.cert.NotBefore,
		NotAfter:     ca.cert.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     l.Names,
	}
	if l.Names == nil {
		c.DNSNames = []string{"localhost"}
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	if l.Expired {
		c.NotAfter = time.Now().Add(-24 * time.Hour)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sign(t, c, ca.cert, k, ca.key).Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Certificate returns a new certificate, with its key, for a server in this process.
func (ca *CA) Certificate(t testing.TB, l Leaf) tls.Certificate {
	t.Helper()
	cert, key := ca.PEM(t, l)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// newKey returns a new key on the curve P-256.
func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns c as a certificate for subject's key, signed by signer; without parent it is
// its own.
func sign(t testing.TB, c, parent *x509.Certificate, subject, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &subject.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
