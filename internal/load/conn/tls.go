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

// TLSOptions configures handshakes. The zero value accepts TLS 1.2 or newer and the
// system's authorities.
type TLSOptions struct {
	RootCAs            *x509.CertPool    // trusted for servers' certificates; nil: the system's
	InsecureSkipVerify bool              // accept any certificate
	ServerName         string            // requested by SNI and verified; "": the target's host
	Certificates       []tls.Certificate // for servers that request a client certificate
	MinTLS             uint16            // tls.VersionTLS12 and so on; 0: TLS 1.2
	MaxTLS             uint16            // 0: the newest
	NoResumption       bool              // make each handshake a full one
	KeyLogFile         string            // file to append each connection's secrets to, for Wireshark; "": none
}

// Check reports options that are wrong or contradict each other. It opens KeyLogFile, and
// creates it if it is missing. The error names the option.
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
	if t.KeyLogFile != "" {
		_, err := keyLog(t.KeyLogFile)
		return err
	}
	return nil
}

// Config returns a new configuration of a handshake with the host name. It offers protocols in
// that order (ALPN), and resumes and stores sessions in the cache sessions, unless that is nil
// or NoResumption is set. The configuration shares t's slices and protocols, which must not be
// changed afterwards. It returns an error if KeyLogFile can't be opened; after a successful
// Check that does not happen.
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

// keyLogs holds the open key logs by path. They stay open until the process ends, since
// any connection may still write a line.
var keyLogs struct {
	sync.Mutex
	byPath map[string]*os.File
}

// maxKeyLogs is the largest number of open key logs.
const maxKeyLogs = 100

// keyLog opens a key log for appending, once per process, and creates it if it is missing. The
// caller must not close it. Its contents decrypt recorded traffic, so only its owner may read
// it. It returns an error for more than maxKeyLogs files, or if the file can't be opened.
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
