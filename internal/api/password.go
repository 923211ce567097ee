package api

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/gobench-io/gobench/internal/api/types"
)

// Cost is the cost of one argon2id hash.
type Cost struct {
	Memory uint32 // KiB
	Passes uint32
}

// defaultCost is above OWASP's minimum (19 MiB, 2 passes), and little memory for a master.
var defaultCost = Cost{Memory: 32 << 10, Passes: 3}

// maxCost bounds the cost of verifying a stored hash.
var maxCost = Cost{Memory: 1 << 20, Passes: 64}

// Lengths of a hash, in bytes.
const (
	saltLength = 16
	keyLength  = 32
)

// maxWaiting is how many logins may wait until others have been hashed.
const maxWaiting = 8

// hasher hashes passwords with argon2id, one at a time: each takes much memory.
type hasher struct {
	cost    Cost
	turn    chan struct{}
	waiting chan struct{}
	unknown string // what verify compares with for users that do not exist: of no password
	derive  func(password string, salt []byte, c Cost, length uint32) []byte
}

// newHasher returns a hasher whose new hashes have the cost c, of one pass at least: else hash
// panics. A stored hash has its own cost. The methods may be called concurrently.
func newHasher(c Cost) *hasher {
	h := &hasher{cost: c, turn: make(chan struct{}, 1), waiting: make(chan struct{}, maxWaiting), derive: argon2id}
	key := make([]byte, keyLength)
	_, _ = rand.Read(key) // never fails
	h.unknown = h.format(newSalt(), key)
	return h
}

var errBusy = retryLater(http.StatusTooManyRequests, types.TooMany, "too many logins at once", 2*time.Second)

// acquire waits until this goroutine may hash, or ctx ends. The caller must call done once.
// It returns errBusy at once if maxWaiting others wait.
func (h *hasher) acquire(ctx context.Context) (done func(), err error) {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return nil, errBusy
	}
	select {
	case h.turn <- struct{}{}:
		return func() { <-h.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hash returns the hash of a password with a new salt, in the PHC string format. The error
// is errBusy or ctx's.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	done, err := h.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return h.encode(password), nil
}

// verify reports whether hash is of a password. An empty hash means that the user does not
// exist: it returns false after the same work. It returns an error if the hash is
// malformed, and errBusy or ctx's error if it could not be computed.
func (h *hasher) verify(ctx context.Context, password, hash string) (bool, error) {
	known := hash != ""
	if !known {
		hash = h.unknown
	}
	cost, salt, key, err := decode(hash)
	if err != nil {
		return false, err
	}
	done, err := h.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	got := h.derive(password, salt, cost, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1 && known, nil
}

// argon2id returns the key of a password, of length bytes. It returns its work area to the
// system at once, unless that is small: an idle master would else keep it until its next
// garbage collection, which may be hours away. It panics if c.Passes is 0.
func argon2id(password string, salt []byte, c Cost, length uint32) []byte {
	if c.Memory >= 1<<10 {
		defer debug.FreeOSMemory()
	}
	return argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, 1, length)
}

var base = base64.RawStdEncoding

// encode hashes a password with a new salt.
func (h *hasher) encode(password string) string {
	salt := newSalt()
	return h.format(salt, h.derive(password, salt, h.cost, keyLength))
}

func newSalt() []byte {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return salt
}

// format returns a hash in the PHC string format.
func (h *hasher) format(salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, h.cost.Memory, h.cost.Passes, base.EncodeToString(salt), base.EncodeToString(key))
}

// decode returns the parts of a hash in the form that format writes. It returns an error
// for any other, and for one that costs more than maxCost.
func decode(hash string) (c Cost, salt, key []byte, err error) {
	parts := strings.Split(hash, "$")
	bad := errors.New("the stored hash of a password is not argon2id as gobench writes it")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, bad
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=1", &c.Memory, &c.Passes); n != 2 || err != nil {
		return c, nil, nil, bad
	}
	salt, err1 := base.DecodeString(parts[4])
	key, err2 := base.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(key) != keyLength || c.Passes == 0 || c.Memory > maxCost.Memory || c.Passes > maxCost.Passes {
		return c, nil, nil, bad
	}
	return c, salt, key, nil
}
