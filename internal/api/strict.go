package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/api/types"
)

// maxDepth is how deep a body's values may be nested. The API's own go to 5.
const maxDepth = 32

// checkJSON returns a problem (400) if a body is not JSON or, with a pointer to the place, if it
// has what encoding/json lets pass: a key twice in one object (readers differ in which one
// they use), text that is not UTF-8, nesting below maxDepth levels, or a number beyond
// float64. An empty body is not JSON.
func checkJSON(body []byte) *problem {
	malformed := func(pointer, format string, args ...any) *problem {
		return refuse(http.StatusBadRequest, types.Malformed, "the body is malformed", types.Detail{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return malformed("", "is empty: send a JSON object")
	}
	if !utf8.Valid(body) {
		return malformed("", "is not text in UTF-8")
	}
	if !json.Valid(body) {
		var syntax *json.SyntaxError
		if err := json.Unmarshal(body, new(json.RawMessage)); errors.As(err, &syntax) {
			return malformed("", "is not JSON: %s, after %d bytes", syntax, syntax.Offset)
		}
		return malformed("", "is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var in []level
	for {
		t, err := d.Token()
		if err != nil {
			return nil // the end
		}
		if len(in) > 0 && in[len(in)-1].wantsKey {
			if key, ok := t.(string); ok {
				at := &in[len(in)-1]
				at.key, at.wantsKey = key, false
				if at.keys[key] {
					return malformed(pointerTo(in), "appears twice")
				}
				at.keys[key] = true
				continue
			}
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				in = append(in, level{keys: map[string]bool{}, wantsKey: true})
			case '[':
				in = append(in, level{})
			default:
				in = in[:len(in)-1]
				next(in)
			}
			if len(in) > maxDepth {
				return malformed(pointerTo(in[:3])+"/...", "is nested deeper than %d levels", maxDepth)
			}
			continue
		case json.Number:
			if f, err := t.Float64(); err != nil || math.IsInf(f, 0) {
				return malformed(pointerTo(in), "is too large a number")
			}
		}
		next(in)
	}
}

// level is an object or array that contains the current value.
type level struct {
	keys     map[string]bool // nil: an array
	key      string          // of the current value
	wantsKey bool
	index    int
}

// next moves the innermost level, if there is one, past its current value.
func next(in []level) {
	if len(in) == 0 {
		return
	}
	at := &in[len(in)-1]
	at.index++
	at.wantsKey = at.keys != nil
}

// pointerTo returns the RFC 6901 pointer to the current value of the innermost level.
func pointerTo(in []level) string {
	var b strings.Builder
	for _, l := range in {
		b.WriteByte('/')
		if l.keys != nil {
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(l.key))
		} else {
			b.WriteString(strconv.Itoa(l.index))
		}
	}
	return b.String()
}
