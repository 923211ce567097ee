package auth

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a password, in characters.
const (
	minPassword = 8 // NIST SP 800-63B, 5.1.1.2
	maxPassword = 128
	beyondName  = 6 // beside the user's name
)

// maxName is how long the name of a user may be, in bytes.
const maxName = 64

// CheckName returns an error, whose text begins with "must", if a user may not have this
// name. Only ASCII letters, digits and a few signs are allowed, so that two names that look
// the same are the same. It does not check whether the name is taken.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("must have 1 to %d characters", maxName)
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-@+", rune(c))) {
			return errors.New("must begin with an ASCII letter or digit, and have no other characters than these and . _ - @ +")
		}
	}
	return nil
}

//go:embed common.txt
var common string

// CheckPassword returns an error if the user with this name may not have this password. It
// may have any characters in UTF-8, 8 to 128, but must not be among the most common ones,
// little more than the name (empty: not checked) or a simple pattern. The text is without a
// subject: "must have ...".
func CheckPassword(password, name string) error {
	if !utf8.ValidString(password) {
		return errors.New("must be text in UTF-8")
	}
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
		return fmt.Errorf("must have %d to %d characters, it has %d", minPassword, maxPassword, n)
	}
	plain := strings.ToLower(password)
	if name != "" && strings.Contains(plain, strings.ToLower(name)) && len(password)-len(name) < beyondName {
		return errors.New("is little more than the user's name: choose another")
	}
	for word := range strings.Lines(common) {
		if plain == strings.TrimSpace(word) {
			return errors.New("is among the most common passwords: choose another")
		}
	}
	if period(plain) <= 4 || steps(plain) {
		return errors.New("repeats or counts a few characters: choose another")
	}
	return nil
}

// period returns the length in bytes of the shortest piece that s repeats, the last time
// perhaps cut off; len(s) if it repeats none.
func period(s string) int {
	for p := 1; p < len(s); p++ {
		if s[p:] == s[:len(s)-p] {
			return p
		}
	}
	return len(s)
}

// steps reports whether the bytes of s count up or down by 1. 9 and 0 count as neighbours.
func steps(s string) bool {
	for _, step := range []int{1, -1} {
		all := true
		for i := 1; i < len(s) && all; i++ {
			all = int(s[i])-int(s[i-1]) == step || s[i-1] == '9' && s[i] == '0' || s[i-1] == '0' && s[i] == '9'
		}
		if all {
			return true
		}
	}
	return false
}
