package api

import (
	"context"
	"strings"
	"testing"
)

// TestLoginCostsAsMuchForNobody holds that the same key is derived for a user that does
// not exist as for one that does: else the time of an answer would reveal which names
// exist. TestLoginTakesAsLongForNobody measures the times.
func TestLoginCostsAsMuchForNobody(t *testing.T) {
	h := newHasher(cheap)
	type derivation struct {
		cost           Cost
		salt, password int
		length         uint32
	}
	var derived []derivation
	h.derive = func(password string, salt []byte, c Cost, length uint32) []byte {
		derived = append(derived, derivation{c, len(salt), len(password), length})
		return argon2id(password, salt, c, length)
	}
	hash, err := h.hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	derived = nil
	for _, stored := range []string{hash, ""} {
		if ok, err := h.verify(t.Context(), "wrong", stored); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if len(derived) != 2 || derived[0] != derived[1] {
		t.Errorf("derived %+v", derived)
	}
	if ok, err := h.verify(t.Context(), password, hash); !ok || err != nil {
		t.Errorf("the right one: %v, %v", ok, err)
	}
	for _, bad := range []string{"x", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=4294967295,t=1,p=1$AAAA$" + strings.Repeat("A", 43), "$argon2id$v=19$m=64,t=0,p=1$AAAA$" + strings.Repeat("A", 43)} {
		if ok, err := h.verify(t.Context(), password, bad); ok || err == nil {
			t.Errorf("%q: %v, %v", bad, ok, err)
		}
	}
}

// TestDefaultCost holds that new hashes cost what defaultCost says, which is above OWASP's
// minimum of 19 MiB and 2 passes.
func TestDefaultCost(t *testing.T) {
	if defaultCost.Memory < 19<<10 || defaultCost.Passes < 2 {
		t.Errorf("default cost %+v", defaultCost)
	}
	api, err := New(newSmall(), newMemory(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	hash, err := api.hasher.hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	if cost, salt, _, err := decode(hash); err != nil || cost != defaultCost || len(salt) != saltLength {
		t.Errorf("%s: %+v, %v", hash, cost, err)
	}
	if ok, err := api.hasher.verify(t.Context(), password, hash); !ok || err != nil {
		t.Errorf("the right password: %v, %v", ok, err)
	}
}

// TestOneHashAtATime holds that logins that wait are bounded, and leave when their client
// does.
func TestOneHashAtATime(t *testing.T) {
	h := newHasher(cheap)
	done, err := h.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range maxWaiting {
		go func() {
			_, err := h.hash(ctx, password)
			errs <- err
		}()
	}
	eventually(t, "all wait", func() bool { return len(h.waiting) == maxWaiting })
	if _, err := h.hash(t.Context(), password); err != errBusy {
		t.Errorf("one more: %v", err)
	}
	cancel()
	for range maxWaiting {
		if err := <-errs; err != context.Canceled {
			t.Errorf("a client that left: %v", err)
		}
	}
	done()
	if _, err := h.hash(t.Context(), password); err != nil {
		t.Error(err)
	}
}
