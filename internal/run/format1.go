package run

import "strings"

// Counts1 returns what a metric of format 1 counts, whose metrics had no roles and were known
// by their titles. It is the only place that knows titles; what it does not know is Other.
func Counts1(title string, t MetricType, group string) Counts {
	c := counts1(title, group)
	if !c.Role.Fits(t) {
		return Counts{}
	}
	return c
}

func counts1(title, group string) Counts {
	if name, ok := strings.CutPrefix(title, "gobench."); ok {
		return Counts{Role: Own, Part: name}
	}
	if name, ok := strings.CutPrefix(title, "check."); ok && group == "Checks" {
		return ending1(name, []ending{{".passed", CheckPassed}, {".failed", CheckFailed}})
	}
	if name, ok := strings.CutPrefix(title, "step."); ok && group == "Steps" {
		return ending1(name, []ending{{".time", StepTime}, {".failed", StepFailed}})
	}
	if class, ok := within(group, "Users ("); ok {
		if name, ok := strings.CutPrefix(title, "vu."+class+"."); ok {
			return ofClass1(class, name)
		}
	}
	if prefix, ok := within(group, "HTTP ("); ok {
		if name, ok := strings.CutPrefix(title, prefix+"."); ok {
			return ofHTTP1(prefix, name)
		}
	}
	if _, ok := within(group, "Results ("); ok {
		return ending1(title, []ending{{".ok", OpOK}, {".fail", OpUnanswered}, {".latency", OpTime}, {".bytes", Bytes}})
	}
	return Counts{}
}

// within returns what is between begin and the closing parenthesis at the end of a group's name.
func within(group, begin string) (name string, ok bool) {
	name, ok = strings.CutPrefix(group, begin)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, ")")
}

// ending is the role of titles with an ending.
type ending struct {
	text string
	role Role
}

// ending1 returns the role of the first ending that a title has; the rest names the owner.
func ending1(title string, all []ending) Counts {
	for _, e := range all {
		if of, ok := strings.CutSuffix(title, e.text); ok {
			return Counts{Role: e.role, Of: of}
		}
	}
	return Counts{}
}

// ofClass1 returns what the metric vu.CLASS.NAME counts.
func ofClass1(class, name string) Counts {
	if task, ok := strings.CutPrefix(name, "task."); ok {
		return Counts{Role: ClassTask, Of: class, By: "task", Part: task}
	}
	role := Role("class." + name)
	switch name {
	case "iterations":
		role = ClassDone
	case "errors":
		role = ClassFailed
	}
	return Counts{Role: role, Of: class} // Counts1 refuses what is no role
}

// ofHTTP1 returns what the metric PREFIX.NAME of an HTTP client counts.
func ofHTTP1(prefix, name string) Counts {
	answers := []ending{{".http_ok", OpOK}, {".http_fail", OpFailed}, {".http_other_fail", OpUnanswered}, {".latency", OpTime}}
	if url, ok := strings.CutPrefix(name, "url."); ok {
		c := ending1(url, answers)
		return Counts{Role: c.Role, Of: prefix, By: "url", Part: c.Of}
	}
	if class, ok := strings.CutPrefix(name, "error."); ok {
		return Counts{Role: OpUnanswered, Of: prefix, By: "error", Part: class}
	}
	if status, ok := strings.CutPrefix(name, "status."); ok {
		switch {
		case len(status) != 3 || strings.Trim(status, "0123456789") != "":
			return Counts{Role: Detail, Of: prefix, By: "status class", Part: status}
		case status[0] == '2':
			return Counts{Role: OpOK, Of: prefix, By: "status", Part: status}
		}
		return Counts{Role: OpFailed, Of: prefix, By: "status", Part: status}
	}
	if peer, ok := strings.CutPrefix(name, "peer."); ok {
		return Counts{Role: Detail, Of: prefix, By: "peer", Part: peer}
	}
	if c := ending1("."+name, answers); c.Role != Other {
		return Counts{Role: c.Role, Of: prefix}
	}
	switch name {
	case "begun", "resent", "age": // which format 1 did not have
		return Counts{Role: Role("op." + name), Of: prefix}
	case "bytes_in", "bytes_out":
		return Counts{Role: Bytes, Of: prefix, By: "direction", Part: strings.TrimPrefix(name, "bytes_")}
	case "connections_opened":
		return Counts{Role: Connections, Of: prefix}
	case "connections_open":
		return Counts{Role: Connections, Of: prefix, By: "state", Part: "open"}
	case "ttfb", "connect", "dns", "tls", "connections_reused", "tls_handshakes", "tls_resumed":
		return Counts{Role: Detail, Of: prefix}
	case "redirects", "challenges":
		return Counts{Role: OpFollowed, Of: prefix, By: "cause", Part: name}
	}
	return Counts{}
}
