package bus

import (
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"

	"github.com/gobench-io/gobench/internal/run/system"
)

const (
	identityFile = "agent.json"
	seedFile     = "agent.nkey"
)

// Identity is an agent's identity and the master it belongs to. It is stored in a folder;
// the seed of the agent's key is in a separate file and never leaves the host.
type Identity struct {
	Agent     string   // id
	Key       string   // public nkey
	MasterKey string   // public nkey that signs commands
	Cluster   string   // id of the master's data
	Addresses []string // as in the join token
	Pin       [32]byte
	CA        []byte // as in the join token
	Creds     string // file of credentials for a NATS cluster, or empty for the embedded server

	seed []byte
}

// identityText is the JSON form of an identity.
type identityText struct {
	Agent     string   `json:"agent"`
	Key       string   `json:"key"`
	MasterKey string   `json:"master_key"`
	Cluster   string   `json:"cluster"`
	Addresses []string `json:"addresses"`
	Pin       string   `json:"pin,omitempty"` // hexadecimal
	CA        []byte   `json:"ca,omitempty"`
	Creds     string   `json:"creds,omitempty"`
}

// WriteIdentity stores an identity, without its seed, in dir, which must exist, with mode
// 0600. It replaces an existing one; after an error that remains.
func WriteIdentity(dir string, i Identity) error {
	text := identityText{Agent: i.Agent, Key: i.Key, MasterKey: i.MasterKey, Cluster: i.Cluster, Addresses: i.Addresses, CA: i.CA, Creds: i.Creds}
	if i.Pin != [32]byte{} {
		text.Pin = hex.EncodeToString(i.Pin[:])
	}
	b, err := json.MarshalIndent(text, "", "\t")
	if err != nil {
		return err
	}
	return system.ReplaceBytes(filepath.Join(dir, identityFile), append(b, '\n'))
}

// ReadIdentity returns the identity in dir, with its seed. The error wraps fs.ErrNotExist if
// no agent has joined with this folder, or its seed is missing. It is an error, which says
// what to do, if a file is not valid, if others may read the seed, or if the seed is of
// another key.
func ReadIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, identityFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, err
	}
	var text identityText
	if err := json.Unmarshal(b, &text); err != nil {
		return Identity{}, fmt.Errorf("%s: %w: remove it and join again", path, err)
	}
	i := Identity{Agent: text.Agent, Key: text.Key, MasterKey: text.MasterKey, Cluster: text.Cluster, Addresses: text.Addresses, CA: text.CA, Creds: text.Creds}
	if n, err := hex.Decode(i.Pin[:], []byte(text.Pin[:min(64, len(text.Pin))])); err != nil || n != 0 && n != 32 || len(text.Pin) > 64 {
		return Identity{}, fmt.Errorf("%s: pin is not one: remove it and join again", path)
	}
	if _, err := x509.ParseCertificates(i.CA); err != nil {
		return Identity{}, fmt.Errorf("%s: ca: %w: remove it and join again", path, err)
	}
	if !validID(i.Agent) || !nkeys.IsValidPublicUserKey(i.MasterKey) || len(i.Addresses) == 0 {
		return Identity{}, fmt.Errorf("%s: not whole: remove it and join again", path)
	}
	if i.seed, err = readSeed(dir); err != nil {
		return Identity{}, err
	}
	if key, err := PublicKey(i.seed); err != nil || key != i.Key {
		return Identity{}, fmt.Errorf("%s is of another key than %s: join again", filepath.Join(dir, seedFile), path)
	}
	return i, nil
}

// readSeed returns the text of the seed in dir. The error wraps fs.ErrNotExist if there is no
// file. A file that others may read, or that is not a seed, is an error.
func readSeed(dir string) ([]byte, error) {
	path := filepath.Join(dir, seedFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others: chmod 600 it, and revoke the agent if it may have been read", path)
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if _, err := PublicKey(seed); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it and join again", path, err)
	}
	return seed, nil
}

// ownSeed returns the seed in dir, or creates dir and a seed there if there is no file. An
// invalid file is an error and stays as it is.
func ownSeed(dir string) ([]byte, error) {
	seed, err := readSeed(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return seed, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if seed, err = NewSeed(); err != nil {
		return nil, err
	}
	return seed, system.ReplaceBytes(filepath.Join(dir, seedFile), seed)
}
