package redact

import (
	"slices"
	"strings"
)

// Args gives a command line's arguments without secrets: passwords of -u and --user, who
// asks the proxy of -x and --proxy, headers, parameters (NAME=VALUE), fields of bodies, and
// URLs. A command within an argument, as --curl takes one, loses its own in the same way.
func Args(args []string) []string {
	args = slices.Clone(args)
	var clean func(string) string // of the argument at hand, by the one before; nil: it is any
	for i, arg := range args {
		args[i], clean = argument(arg, clean), after(arg)
	}
	return args
}

// after tells how the value is cleaned that comes after an argument; nil: as any other.
func after(arg string) func(string) string {
	switch arg {
	case "-u", "--user":
		return password
	case "-x", "--proxy":
		return proxy
	}
	return nil
}

// argument is one argument without secrets.
func argument(arg string, clean func(string) string) string {
	if clean != nil {
		return clean(arg)
	}
	begin := ""
	if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "--") {
		begin, arg, clean = name+"=", value, after(name)
	} else if len(arg) > 2 && arg[0] == '-' && strings.IndexByte("uHbx", arg[1]) >= 0 {
		begin, arg, clean = arg[:2], arg[2:], after(arg[:2])
	}
	if clean != nil {
		return begin + clean(arg)
	}
	var b strings.Builder
	b.WriteString(begin)
	for len(arg) > 0 { // what stands between quotes is an argument of its own
		end := ends(arg, "'")
		piece := arg[:end]
		if clean == nil {
			b.WriteString(values(Body(Form(Head(piece)))))
		} else {
			b.WriteString(clean(piece))
		}
		clean = nil
		if all := strings.Fields(piece); len(all) > 0 {
			clean = after(all[len(all)-1])
		}
		if end < len(arg) {
			b.WriteByte(arg[end])
			end++
		}
		arg = arg[end:]
	}
	return b.String()
}

// values cleans the values of a command that stand in it without quotes.
func values(s string) string {
	var b strings.Builder
	var clean func(string) string
	for len(s) > 0 {
		end := ends(s, " \t\r\n")
		word := s[:end]
		if clean != nil && word != "" {
			b.WriteString(clean(word))
		} else {
			b.WriteString(word)
		}
		if word != "" && word != `\` { // which goes on in the next line
			clean = after(word)
		}
		if end < len(s) {
			b.WriteByte(s[end])
			end++
		}
		s = s[end:]
	}
	return b.String()
}

// password gives USER:PASSWORD without the password.
func password(s string) string {
	if user, _, ok := strings.Cut(s, ":"); ok {
		return user + ":" + Mark
	}
	return s
}

// proxy gives the place of a proxy without who asks it, with a scheme or, as curl takes it,
// without.
func proxy(s string) string {
	if strings.Contains(s, "://") {
		return Line(s)
	}
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return Mark + s[at:]
	}
	return s
}
