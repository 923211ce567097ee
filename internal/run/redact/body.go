package redact

import "strings"

// Body returns a body's text without the secrets that it names: fields of a form
// (password=...), texts, numbers and arrays in JSON ("password": "...", not whole objects),
// and parameters of URLs. The text may be cut off; what it has of a secret is
// redacted then too.
func Body(s string) string {
	return members(form(Line(s)))
}

// form returns a form's fields (a=1&b=2) without the values of secrets. It returns other
// texts, such as any with a space, a line end or a quote, unchanged.
func form(s string) string {
	if strings.ContainsAny(s, " \t\n<>{\"") || strings.IndexByte(s, '=') < 0 {
		return s
	}
	return parameters("&"+s, "&;")[1:]
}

// members redacts the values of secrets in JSON: the text in "name": "text", the number in
// "name": 123, all of the array in "name": [...]. A value that is cut off is redacted to its
// end; objects stay, except for members of theirs.
func members(s string) string {
	var b strings.Builder
	from := 0 // start of what is not written yet
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		end, whole := quoted(s, i)
		if !whole {
			break
		}
		name := s[i+1 : end-1]
		value := skip(s, end)
		if value >= len(s) || s[value] != ':' || !Secret(name) {
			if value < len(s) && s[value] == ':' {
				i = value // this text is a value, not a name
				if next := skip(s, value+1); next < len(s) && s[next] == '"' {
					if end, whole := quoted(s, next); whole {
						i = end - 1
					}
				}
				continue
			}
			i = end - 1
			continue
		}
		value = skip(s, value+1)
		if value >= len(s) {
			break
		}
		switch {
		case s[value] == '"':
			end, whole = quoted(s, value)
			b.WriteString(s[from:value] + `"` + Mark)
			if whole {
				b.WriteByte('"')
			}
		case s[value] == '{':
			i = value
			continue // its members have their own names
		case s[value] == '[':
			end, whole = array(s, value)
			b.WriteString(s[from:value] + "[" + Mark)
			if whole {
				b.WriteByte(']')
			}
		default:
			end = value + ends(s[value:], ",}] \t\r\n")
			b.WriteString(s[from:value] + Mark)
		}
		from, i = end, end-1
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// quoted returns the index after the text that begins with the quote at i, its closing quote
// included, and whether it is closed; if not, the length of s.
func quoted(s string, i int) (end int, whole bool) {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return len(s), false
}

// array returns the index after the array that begins at i, its closing bracket included, and
// whether it is closed; if not, the length of s.
func array(s string, i int) (end int, whole bool) {
	for depth := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			if end, whole = quoted(s, i); !whole {
				return end, false
			}
			i = end - 1
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(s), false
}

// skip returns the index of the first character at or after i that is not white space, or
// the length of s.
func skip(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
		i++
	}
	return i
}
