package http

import (
	"strconv"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
)

// maxCodes limits the status codes that a prefix counts separately. Others count by their class
// only.
const maxCodes = 40

// codes holds the counters of status codes, each declared on first use.
type codes struct {
	known [500]atomic.Pointer[executor.Meter] // by status - 100
	n     int                                 // number of declared codes; guarded by family.mu

	sampled [500]atomic.Bool // by status - 100: its samples of failed exchanges are complete
}

// code returns the counter of a status, and declares it on first use; nil for a status that is
// not 100 to 599, and beyond the limits. Any goroutine may call it.
func (f *family) code(r *executor.Recorder, status int) *executor.Meter {
	i := uint(status - 100)
	if i >= uint(len(f.codes.known)) {
		return nil
	}
	m := f.codes.known[i].Load()
	if m == nil {
		m = f.newCode(r, status)
	}
	if m == &uncounted {
		return nil
	}
	return m
}

// uncounted marks a code without a counter.
var uncounted executor.Meter

// newCode declares a status, 100 to 599, and returns its counter. It returns uncounted, then
// and at later calls, beyond the limit of the prefix or the run.
func (f *family) newCode(r *executor.Recorder, status int) *executor.Meter {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := &f.codes.known[status-100]
	if m := known.Load(); m != nil {
		return m
	}
	if f.codes.n == maxCodes {
		known.Store(&uncounted)
		return &uncounted
	}
	m := new(executor.Meter)
	text, role := strconv.Itoa(status), metrics.Failed
	if status/100 == 2 {
		role = metrics.OK
	}
	d := groupOf(f.prefix)
	d.graph("Status "+text, "N")
	d.metric("status."+text, metrics.Counter, part(role, "status", text), m)
	if d.declare(r) != nil {
		m = &uncounted
	} else {
		f.codes.n++
	}
	known.Store(m)
	return m
}

// statusClass returns the class of samples of answers with a status.
func statusClass(status int) string { return "status " + strconv.Itoa(status) }

// wantsStatus reports whether an answer with a failing status would be stored as a sample.
// After it has returned false for a status, it always does, and costs almost nothing.
func (c *client) wantsStatus(status int) bool {
	sampled := &c.family.codes.sampled
	i := uint(status - 100)
	if i < uint(len(sampled)) && sampled[i].Load() {
		return false
	}
	wants := c.recorder.WantsSample(c.family.prefix, statusClass(status))
	if !wants && i < uint(len(sampled)) {
		sampled[i].Store(true)
	}
	return wants
}

// class returns the counter of a status's class: 2xx to 5xx, and "other" for the rest.
func (m *meters) class(status int) executor.Meter {
	if i := status/100 - 2; uint(i) < uint(len(m.classes)-1) {
		return m.classes[i]
	}
	return m.classes[len(m.classes)-1]
}
