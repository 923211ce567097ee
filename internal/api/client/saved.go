package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/run/system"
)

// Saved is a login at a master in a file. ID is empty for a token that the user named; it is
// not revoked at a logout.
type Saved struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	ID    string `json:"id"` // of the token
	User  string `json:"user"`
	CA    string `json:"ca,omitempty"` // Options.CA
}

// ReadSaved returns the login in a file; nil, without an error, if there is no such file.
func ReadSaved(file string) (*Saved, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	l := new(Saved)
	if err == nil {
		err = json.Unmarshal(b, l)
	}
	if err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	return l, nil
}

// Write stores a login, readable by this user only, in place of the previous one, and creates
// the file's folder if needed. On an error the previous one remains.
func (l *Saved) Write(file string) error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = system.ReplaceBytes(file, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("store the login: %w", err)
	}
	return nil
}

// URLOr returns the URL of a login, or other if l is nil.
func (l *Saved) URLOr(other string) string {
	if l == nil {
		return other
	}
	return l.URL
}
