package auth

import (
	"strings"
	"testing"
)

func TestRolesCoverThoseBelow(t *testing.T) {
	for i, r := range roles {
		for j, other := range roles {
			if got := r.Covers(other); got != (i >= j) {
				t.Errorf("%s covers %s: %v", r, other, got)
			}
		}
		if r.Covers("") || Role("root").Covers(r) || r.Covers("root") {
			t.Errorf("%s and what is no role", r)
		}
	}
}

func TestTokenTextIsTakenApart(t *testing.T) {
	id, secret := NewID(), NewSecret()
	text := TokenText(id, secret)
	gotID, gotSecret, ok := ParseToken(text)
	if !ok || gotID != id || gotSecret != secret {
		t.Errorf("ParseToken(%q) = %q, %q, %v", text, gotID, gotSecret, ok)
	}
	for _, bad := range []string{"", "gbt_", text[1:], text + "x", text[:len(text)-1], strings.Replace(text, "_"+secret, "-"+secret, 1), strings.ToUpper(text)} {
		if _, _, ok := ParseToken(bad); ok {
			t.Errorf("ParseToken(%q) is well", bad)
		}
	}
	if NewID() == id || NewSecret() == secret {
		t.Error("made twice")
	}
	if !Same(Hash(secret), Hash(secret)) || Same(Hash(secret), Hash(secret+"x")) || Same(Hash(secret), nil) {
		t.Error("hashes of the same secret are the same, of others not")
	}
}

func TestNamesOfUsers(t *testing.T) {
	for _, good := range []string{"a", "admin", "Ann.Lee", "ann_lee-2", "ann@example.com", "0x", strings.Repeat("n", 64)} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", strings.Repeat("n", 65), strings.Repeat("n", 10<<10), "a\x00b", "a\nb", "ab\u202e", "\U0001f600", "e\u0301", "\u00e9", "../..", "..", "-rf", "<script>", "a b", ".a", "a/b", "a\\b", "a'b",
	} {
		if err := CheckName(bad); err == nil {
			t.Errorf("%.40q is taken", bad)
		}
	}
}

func TestPasswords(t *testing.T) {
	for _, good := range []string{"rosy ferry in May", "supertest", "\u00e4\u00f6\u00fc\u00df\u00e4\u00f6\u00fc\u00df\u00e4\u00f6\u00fc\u00df!", strings.Repeat("long one ", 7), "kWx9#pL2vQ7!", strings.Repeat("0123456789abcdef", 8)} {
		if err := CheckPassword(good, "ann"); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "short", "seven77", "Password", "iloveyou", "qwerty123", strings.Repeat("x", 129), strings.Repeat("many ", 300000), "Password1234", "aaaaaaaaaaaaaaa", "abcabcabcabcabc", "abcdefghijklmnop",
		"123456789012", "098765432109", "ann-ann-ann-", "Correct Horse Battery Staple", "\xff\xfe23456789012",
	} {
		if err := CheckPassword(bad, "ann"); err == nil {
			t.Errorf("%.40q is taken", bad)
		}
	}
	if err := CheckPassword("annalise1234", "annalise"); err == nil {
		t.Error("a name with a few digits is taken")
	}
}
