package redact

import (
	"slices"
	"strings"
)

// Args gives a command line's arguments without secrets: passwords of -u and --user,
// headers, parameters (NAME=VALUE), fields of bodies, and URLs. A command within an
// argument, as --curl takes one, loses its own in the same way.
func Args(args []string) []string {
	args = slices.Clone(args)
	user := false // the argument before wants a user and a password
	for i, arg := range args {
		args[i], user = argument(arg, user), arg == "-u" || arg == "--user"
	}
	return args
}

// argument is one argument without secrets.
func argument(arg string, user bool) string {
	if user {
		return password(arg)
	}
	begin := ""
	if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "--") {
		begin, arg = name+"=", value
		user = name == "--user"
	} else if len(arg) > 2 && arg[0] == '-' && strings.IndexByte("uHb", arg[1]) >= 0 {
		begin, arg = arg[:2], arg[2:]
		user = begin == "-u"
	}
	if user {
		return begin + password(arg)
	}
	var b strings.Builder
	b.WriteString(begin)
	for len(arg) > 0 { // what stands between quotes is an argument of its own
		end := ends(arg, "'")
		piece := arg[:end]
		if user {
			piece = password(piece)
		} else {
			piece = Body(Form(Head(piece)))
		}
		words := strings.Fields(arg[:end])
		user = len(words) > 0 && (words[len(words)-1] == "-u" || words[len(words)-1] == "--user")
		b.WriteString(piece)
		if end < len(arg) {
			b.WriteByte(arg[end])
			end++
		}
		arg = arg[end:]
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
