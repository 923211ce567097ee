package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestToken(t *testing.T) {
	t.Parallel()
	outside := NewToken([]string{"tls://bus.example:4222"}, [32]byte{})
	outside.CA = authorities(t)
	for _, want := range []Token{
		NewToken([]string{"127.0.0.1:4222", "[::1]:4222"}, [32]byte{1, 2, 3}),
		NewToken([]string{"nats://bus.example:4222"}, [32]byte{}),
		outside,
	} {
		text := want.String()
		if !strings.HasPrefix(text, "gobench-join_") {
			t.Errorf("token %q", text)
		}
		got, err := ParseToken(" " + text + "\n")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseToken = %+v, %v, want %+v", got, err, want)
		}
		if !bytes.Equal(got.Hash(), HashSecret(want.Secret)) || len(got.Secret) < 26 {
			t.Errorf("secret %q", got.Secret)
		}
		// Each change of a character is detected, and no error contains the text.
		for i := range text {
			b := []byte(text)
			if b[i]++; b[i] == '{' {
				b[i] = 'A'
			}
			if _, err := ParseToken(string(b)); err == nil {
				t.Errorf("taken with another character at %d", i)
			} else if strings.Contains(err.Error(), want.Secret) {
				t.Errorf("the error has the secret: %v", err)
			}
			if _, err := ParseToken(text[:i]); err == nil {
				t.Errorf("taken with %d characters", i)
			}
		}
	}
}

func TestTokenThatIsNone(t *testing.T) {
	t.Parallel()
	for name, json := range map[string]string{
		"no address":    `{"a":[],"i":"x","s":"y"}`,
		"bad address":   `{"a":["nowhere"],"i":"x","s":"y"}`,
		"bad scheme":    `{"a":["http://x:1"],"i":"x","s":"y"}`,
		"id with dots":  `{"a":["h:1"],"i":"x.>","s":"y"}`,
		"no secret":     `{"a":["h:1"],"i":"x"}`,
		"short pin":     `{"a":["h:1"],"i":"x","s":"y","p":"AAAA"}`,
		"bad authority": `{"a":["h:1"],"i":"x","s":"y","c":"AAAA"}`,
		"no JSON":       `x`,
		"wrong type":    `{"a":1}`,
		"empty address": `{"a":[""],"i":"x","s":"y"}`,
	} {
		sum := sha256.Sum256([]byte(json))
		if got, err := ParseToken(tokenPrefix + base64.RawURLEncoding.EncodeToString(append(sum[:4:4], json...))); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(NewToken([]string{"127.0.0.1:4222"}, [32]byte{1}).String())
	f.Add("gobench-join_")
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := ParseToken(text)
		if err != nil {
			return
		}
		if again, err := ParseToken(tok.String()); err != nil || !reflect.DeepEqual(again, tok) {
			t.Errorf("%+v became %+v, %v", tok, again, err)
		}
	})
}

func TestIdentityIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seed, err := ownSeed(dir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := PublicKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	want := Identity{Agent: "a1", Key: key, MasterKey: key, Cluster: "c", Addresses: []string{"h:1"}, Pin: [32]byte{7}, CA: authorities(t), seed: seed}
	if err := WriteIdentity(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadIdentity(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ReadIdentity = %+v, %v", got, err)
	}
	if again, err := ownSeed(dir); err != nil || !bytes.Equal(again, seed) {
		t.Errorf("the key was made anew: %v", err)
	}
	for _, name := range []string{identityFile, seedFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil || bytes.Contains(text, seed) {
		t.Errorf("%s has the seed: %v", identityFile, err)
	}
	if err := os.Chmod(filepath.Join(dir, seedFile), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadIdentity(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, seedFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		``, `{}`, `{"agent":"a.>"}`,
		strings.Replace(string(text), key, "UAAA", 1),
		strings.Replace(string(text), `"pin": "07`, `"pin": "07ff`, 1),
		strings.Replace(string(text), `"pin": "07`, `"pin": "`, 1),
		strings.Replace(string(text), `"pin": "07`, `"pin": "zz`, 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadIdentity(dir); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

// authorities are certificates of a NATS cluster, in the form of tokens.
func authorities(t *testing.T) []byte {
	t.Helper()
	block, _ := pem.Decode(servers.NewCA(t).Root())
	return block.Bytes
}
