package doctor

import "testing"

func TestCPUList(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-1,4,6-7": 5, "": 0, "a": 0, "3-1": 0, "0-": 0} {
		if n := cpuList(list); n != want {
			t.Errorf("%q: %d", list, n)
		}
	}
}

func TestSoftLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"Max open files            unlimited            unlimited            files\n": 0, "Max open files\n": 0, "": 0, "Max open files 7 9 files": 7} {
		if n := softLimit(text); n != want {
			t.Errorf("%q: %d", text, n)
		}
	}
}
