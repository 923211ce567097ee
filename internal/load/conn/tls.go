package conn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// TLSOptions is how handshakes are made. The zero value is TLS 1.2 or newer with whoever
// this host trusts.
type TLSOptions struct {
	RootCAs            *x509.CertPool    // who may sign servers' certificates; nil: whom this host trusts
	InsecureSkipVerify bool              // take any certificate
	ServerName         string            // to ask for and to check certificates against; "": the target's host
	Certificates       []tls.Certificate // to show to servers that ask who is there
	MinTLS             uint16            // tls.VersionTLS12 and so on; 0: TLS 1.2
	MaxTLS             uint16            // 0: the newest
	NoResumption       bool              // make each handshake a full one
	KeyLogFile         string            // append each connection's secrets there, for Wireshark; "": don't
}

// Check names what can't be.
func (t *TLSOptions) Check() error {
	for _, v := range []struct {
		name    string
		version uint16
	}{{"MinTLS", t.MinTLS}, {"MaxTLS", t.MaxTLS}} {
		if v.version != 0 && (v.version < tls.VersionTLS10 || v.version > tls.VersionTLS13) {
			return fmt.Errorf("option %s is 0x%04x: want tls.VersionTLS10 to tls.VersionTLS13", v.name, v.version)
		}
	}
	if t.MaxTLS != 0 && t.MaxTLS < max(t.MinTLS, tls.VersionTLS12) && t.MinTLS == 0 {
		return fmt.Errorf("option MaxTLS is %s: set MinTLS too, which is TLS 1.2 by default", tls.VersionName(t.MaxTLS))
	}
	if t.MaxTLS != 0 && t.MaxTLS < t.MinTLS {
		return fmt.Errorf("option MaxTLS is %s, below MinTLS %s", tls.VersionName(t.MaxTLS), tls.VersionName(t.MinTLS))
	}
	for i, c := range t.Certificates {
		if len(c.Certificate) == 0 || c.PrivateKey == nil {
			return fmt.Errorf("option Certificates[%d] has no certificate or no key: load it with tls.LoadX509KeyPair", i)
		}
	}
	return nil
}

// Config makes what a handshake with a server wants: name is the server's host,
// protocols are offered in that order (ALPN), sessions are those that this client
// may resume.
func (t *TLSOptions) Config(name string, protocols []string, sessions tls.ClientSessionCache) (*tls.Config, error) {
	c := &tls.Config{
		RootCAs:            t.RootCAs,
		InsecureSkipVerify: t.InsecureSkipVerify,
		ServerName:         t.ServerName,
		Certificates:       t.Certificates,
		MinVersion:         t.MinTLS,
		MaxVersion:         t.MaxTLS,
		NextProtos:         protocols,
	}
	if c.ServerName == "" {
		c.ServerName = name
	}
	if !t.NoResumption {
		c.ClientSessionCache = sessions
	}
	if t.KeyLogFile != "" {
		var err error
		if c.KeyLogWriter, err = keyLog(t.KeyLogFile); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// keyLogs are the open key logs by path. They stay open: a line may come at any time.
var keyLogs struct {
	sync.Mutex
	byPath map[string]*os.File
}

// maxKeyLogs bounds the key logs that are open.
const maxKeyLogs = 100

// keyLog opens a key log for appending, once a process. What it holds opens recorded
// traffic: only its owner may read it.
func keyLog(path string) (io.Writer, error) {
	keyLogs.Lock()
	defer keyLogs.Unlock()
	if f := keyLogs.byPath[path]; f != nil {
		return f, nil
	}
	if len(keyLogs.byPath) >= maxKeyLogs {
		return nil, errors.New("option KeyLogFile: 100 files are open already")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("option KeyLogFile: %w", err)
	}
	if keyLogs.byPath == nil {
		keyLogs.byPath = map[string]*os.File{}
	}
	keyLogs.byPath[path] = f
	return f, nil
}
