package redact

import (
	"slices"
	"strings"
)

// Args returns a copy of a command line's arguments without secrets: it redacts passwords of
// -u and --user, credentials in -x and --proxy, headers, parameters (NAME=VALUE), fields of
// bodies, and URLs. It treats a command within an argument, as in --curl, in the same way.
func Args(args []string) []string {
	args = slices.Clone(args)
	var clean func(string) string // of the current argument, chosen by the previous one; nil: the default
	for i, arg := range args {
		args[i], clean = argument(arg, clean), after(arg)
	}
	return args
}

// after returns the function that redacts the argument after arg; nil, which means the
// default, unless arg is an option for credentials.
func after(arg string) func(string) string {
	switch arg {
	case "-u", "--user":
		return password
	case "-x", "--proxy":
		return proxy
	}
	return nil
}

// argument returns one argument without secrets, also of the form --NAME=VALUE or -uVALUE.
// clean redacts it if it is the value of the option before; nil means the default.
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
	for len(arg) > 0 { // a quoted part is treated as an argument
		end := ends(arg, "'")
		piece := arg[:end]
		if clean == nil {
			b.WriteString(values(Body(form(Head(piece)))))
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

// values redacts the unquoted values of options for credentials in a command. White space is
// unchanged.
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
		if word != "" && word != `\` { // a backslash continues the command on the next line
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

// password returns USER:PASSWORD with Mark instead of the password, and a text without a
// colon unchanged.
func password(s string) string {
	if user, _, ok := strings.Cut(s, ":"); ok {
		return user + ":" + Mark
	}
	return s
}

// proxy returns the address of a proxy with Mark instead of its credentials, if it has any.
// It may have a scheme or, as curl accepts it, none.
func proxy(s string) string {
	if strings.Contains(s, "://") {
		return Line(s)
	}
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return Mark + s[at:]
	}
	return s
}
