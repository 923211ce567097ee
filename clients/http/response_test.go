package http

import (
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	var v struct{ Token string }
	if err := (Response{Status: 200, Body: []byte(`{"token":"x7","more":1}`)}).JSON(&v); err != nil || v.Token != "x7" {
		t.Errorf("the token is %q, %v", v.Token, err)
	}
	for body, want := range map[string]string{"": `status 502, body "": `, "<html>" + strings.Repeat("x", 100): `status 502, body "<html>x`, `{"token":`: "unexpected end"} {
		if err := (Response{Status: 502, Body: []byte(body)}).JSON(&v); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.10q: %v, want %q", body, err, want)
		}
	}
}
