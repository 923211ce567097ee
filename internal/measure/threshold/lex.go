package threshold

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a quoted string or an operator of an expression.
type token struct {
	kind tokenKind
	text string // of a string, without its quotes
	at   int    // byte offset
}

type tokenKind int

const (
	end tokenKind = iota
	word
	quoted
	operator
)

// SyntaxError describes where an expression is wrong and what was expected there.
type SyntaxError struct {
	Text    string // the whole expression
	Column  int    // in characters, from 1
	Problem string
}

func (e *SyntaxError) Error() string {
	return "threshold " + strconv.Quote(e.Text) + ", column " + strconv.Itoa(e.Column) + ": " + e.Problem
}

// Pointed returns the expression, and below it a caret at the column: two lines, both
// indented, without a line end after the second. Unprintable characters are spaces.
func (e *SyntaxError) Pointed() string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, e.Text)
	return "  " + shown + "\n  " + strings.Repeat(" ", e.Column-1) + "^"
}

// wrong returns a SyntaxError for a byte offset of text.
func wrong(text string, at int, problem string) error {
	return &SyntaxError{Text: text, Column: utf8.RuneCountInString(text[:at]) + 1, Problem: problem}
}

// lex splits text into tokens; the last is an end. Its error is a *SyntaxError.
func lex(text string) (tokens []token, err error) {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			at += n
		case r == '"':
			n = quotedLength(text[at:])
			s, err := strconv.Unquote(text[at : at+n])
			if err != nil {
				return nil, wrong(text, at, `a string ends with " on the same line, and has Go's escapes`)
			}
			tokens = append(tokens, token{quoted, s, at})
			at += n
		case strings.ContainsRune("<>=!", r):
			n = 1
			if strings.HasPrefix(text[at+1:], "=") {
				n = 2
			}
			tokens = append(tokens, token{operator, text[at : at+n], at})
			at += n
		case inWord(r):
			n = strings.IndexFunc(text[at:], func(r rune) bool { return !inWord(r) })
			if n < 0 {
				n = len(text) - at
			}
			tokens = append(tokens, token{word, text[at : at+n], at})
			at += n
		default:
			return nil, wrong(text, at, "this character has no place in a threshold: put a title that has it in quotes")
		}
	}
	return append(tokens, token{end, "", len(text)}), nil
}

// quotedLength returns the length, in bytes and with its quotes, of the string that s
// begins with; that of s if the string has no end.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
