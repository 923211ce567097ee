package runner

import "testing"

func TestPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ stack, function, line string }{
		"a user's": {"goroutine 7 [running]:\nruntime/debug.Stack()\n\truntime/debug/stack.go:26 +0x64\nmain.decoy()\n\tdecoy.go:1 +0x1\npanic({0x1, 0x2})\n\truntime/panic.go:787 +0x132\n" +
			"main.user({0x1, 0x2}, 0x7)\n\t./shop.go:17 +0x25\ngithub.com/gobench-io/gobench/internal/load/runner.(*class).life(...)\n\tx.go:3\n", "user", "shop.go:17"},
		"in a library": {"panic({0x1})\n\truntime/panic.go:787\nencoding/json.Must(...)\n\tencoding/json/x.go:3 +0x1\nmain.(*shop).buy.func1()\n\tshop/buy.go:9 +0x2\n", "(*shop).buy.func1", "shop/buy.go:9"},
		"a crash":      {"panic: on its own\n\ngoroutine 37 [running]:\nmain.user.func1()\n\t./pgo.go:8 +0x25\ncreated by main.user in goroutine 36\n\t./pgo.go:8 +0x25\n", "user.func1", "pgo.go:8"},
		"at the start": {"panic: x\n\ngoroutine 1 [running]:\nmain.init()\n\t./pinit.go:7 +0x9\n", "init", "pinit.go:7"},
		"no scenario":  {"panic: x\n\ngoroutine 1 [running]:\nruntime.main()\n\tproc.go:7 +0x9\n", "", ""},
		"nothing":      {},
	} {
		function, line := Place([]byte(tt.stack))
		if function != tt.function || line != tt.line {
			t.Errorf("%s: %q, %q; want %q, %q", name, function, line, tt.function, tt.line)
		}
	}
}
