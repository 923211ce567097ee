package units

import "testing"

func TestFormats(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0000123: "12.3 ns", 0.0123: "12.3 µs", 0.9996: "1000 µs", 1: "1.00 ms", 99.96: "100 ms", 1234.5: "1.23 s", 119999: "120 s", 150e3: "2m30s"} {
		if got := Millis(v); got != want {
			t.Errorf("Millis(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Count(v); got != want {
			t.Errorf("Count(%d) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0 B", 1023: "1023 B", 179.1995: "179 B", 1024: "1.00 KiB", 1 << 20: "1.00 MiB", 1.5 * (1 << 40): "1.50 TiB"} {
		if got := Bytes(v); got != want {
			t.Errorf("Bytes(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[string]string{"plain é": "plain é", "a\x1b[2J\r\nb": `a\x1b[2J\r\nb`, "\u202egnp": `\u202egnp`, "say \"hi\"": `say "hi"`} {
		if got := Safe(v); got != want {
			t.Errorf("Safe(%q) = %s, want %s", v, got, want)
		}
	}
}
