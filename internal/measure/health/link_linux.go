package health

import (
	"os"
	"strings"
	"time"
)

// links are the network cards whose speed is known. Loopback and virtual devices are left
// out: they have no speed, or send through a card.
type links struct {
	speed map[string]uint64 // bytes a second in each direction, by name
	last  map[string]carried
}

// open finds the cards and their speeds; without any, read records nothing. h must have its
// buffer.
func (l *links) open(h *host) {
	l.speed, l.last = map[string]uint64{}, map[string]carried{}
	b, _ := h.file("/proc/net/dev")
	for name := range parseDevices(b) {
		if strings.ContainsAny(name, "/") {
			continue
		}
		dir := "/sys/class/net/" + name
		if _, err := os.Lstat(h.root + dir + "/device"); err != nil {
			continue
		}
		b, _ := h.file(dir + "/speed")
		if megabits, ok := number(b); ok && megabits > 0 { // -1 if unknown
			l.speed[name] = megabits * 1e6 / 8
		}
	}
}

// read records the share of its speed, in thousandths, at which the busiest card sent or
// received since the last call, which was elapsed ago. If elapsed is 0, as in the first
// call, or no card is known, it records nothing.
func (l *links) read(h *host, elapsed time.Duration, record func(Metric, int64)) {
	if len(l.speed) == 0 {
		return
	}
	b, _ := h.file("/proc/net/dev")
	busiest := int64(-1)
	for name, now := range parseDevices(b) {
		speed, last := l.speed[name], l.last[name]
		l.last[name] = now
		if speed == 0 || elapsed <= 0 {
			continue
		}
		most := max(grown(now.in, last.in), grown(now.out, last.out))
		busiest = max(busiest, share(most, uint64(max(1, float64(speed)*elapsed.Seconds()))))
	}
	if busiest >= 0 {
		record(Link, busiest)
	}
}
