package servers

import (
	"fmt"
	"strings"
)

// SlowToCompile returns scenario's source, changed so that it compiles for minutes: each of
// its generic functions instantiates the next one for two new types.
func SlowToCompile(scenario string) string {
	var b strings.Builder
	b.WriteString(scenario + "\ntype pair[A, B any] struct {\n\ta A\n\tb B\n}\n\nvar _ = f0[int]()\n")
	const depth = 18
	for i := range depth {
		fmt.Fprintf(&b, "\nfunc f%d[A any]() int { return f%d[pair[A, int]]() + f%d[pair[int, A]]() }\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "\nfunc f%d[A any]() int {\n\tvar a A\n\t_ = a\n\treturn 1\n}\n", depth)
	return b.String()
}

// HungryToCompile returns scenario's source, changed so that its constants double until the
// compiler holds gigabytes.
func HungryToCompile(scenario string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nconst s0 = %q\n", scenario, strings.Repeat("x", 1024))
	for i := range 22 {
		fmt.Fprintf(&b, "const s%d = s%d + s%d\n", i+1, i, i)
	}
	b.WriteString("\nvar _ = s22[5]\nvar _ = s22 == s21\n")
	return b.String()
}
