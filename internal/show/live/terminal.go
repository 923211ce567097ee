package live

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
)

// Terminal draws a Run at the bottom of a terminal and scrolls up what is printed above it.
// It is safe for concurrent use. Its methods, except Close, do not wait for the terminal:
// what a slow one does not accept in time is dropped and counted.
//
// The terminal keeps its signals and its line ends; only line buffering and the echo are
// off, and the cursor stays on the block's first line. So Ctrl-C works whatever happens to
// this process, and one sequence wipes the block, however the window was resized since.
//
// A screen of 200 columns takes 0.09 ms (BenchmarkScreen); there are four a second, at most
// ten. Over a whole run gobench itself takes 0.6 % of a CPU with it and 0.2 % with lines.
type Terminal struct {
	out   *os.File
	press Press // nil if there is no keyboard

	wake  chan struct{} // has a capacity of one
	lines chan []byte   // to print above the block
	done  chan struct{} // closed by Close
	over  sync.WaitGroup
	once  sync.Once

	mu      sync.Mutex
	run     Run // guarded by mu
	dropped int // bytes not shown, guarded by mu
	closed  bool

	// Used by the goroutine that draws only.
	saved  *modes
	keys   *keyboard
	color  bool
	width  int
	height int
	drawn  []string // on the screen, from the cursor's line on
}

// Press is called by one goroutine with each key except those of the screen itself. look
// calls a function with the current state of the run.
type Press func(key byte, look func(func(*Run)))

// Timing of redraws.
const (
	beat    = 250 * time.Millisecond // so that clocks advance
	soonest = 100 * time.Millisecond // after the previous redraw
)

// Fits reports whether a block can be drawn on out: it is a terminal that understands the
// usual sequences, and this process may draw on it.
func Fits(out *os.File) bool {
	term := os.Getenv("TERM")
	return term != "" && term != "dumb" && IsTerminal(out) && foreground(out)
}

// Open begins to draw r on out, for which Fits must be true. press is called with each key
// read from in, except "?" and those that send several characters, as arrows; it may be nil
// only if in is no terminal, from which nothing is read. The caller must call Close; it still
// owns out and in.
func Open(out, in *os.File, r Run, press Press) *Terminal {
	t := &Terminal{out: out, run: r, wake: make(chan struct{}, 1), lines: make(chan []byte, 256), done: make(chan struct{}), color: os.Getenv("NO_COLOR") == ""}
	if IsTerminal(in) {
		if k, err := newKeyboard(in); err == nil {
			t.keys, t.press, t.run.Keys = k, press, true
		}
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, terminalSignals...)
	t.enter()
	t.over.Go(func() {
		defer signal.Stop(signals)
		defer t.leave() // restores the terminal after a panic too
		t.loop(signals)
	})
	if t.keys != nil {
		t.over.Go(func() { t.keys.read(t.key) })
	}
	return t
}

// key handles a key: "?" switches the help, others are passed to press.
func (t *Terminal) key(k byte) {
	if k == '?' {
		t.mu.Lock()
		t.run.Help = !t.run.Help
		t.mu.Unlock()
		t.redraw()
		return
	}
	t.press(k, t.look)
}

// Show applies an event to the run and prints its text, unless it is a step's, above the
// block.
func (t *Terminal) Show(e event.Event) {
	t.mu.Lock()
	t.run.apply(e)
	t.mu.Unlock()
	if e.Text != "" && e.Kind != event.Step {
		t.Print([]byte(e.Text + "\n"))
	}
	t.redraw()
}

// look calls f with the current state of the run; f must not retain it, nor call the
// Terminal.
func (t *Terminal) look(f func(*Run)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.run)
}

// Print prints whole lines above the block; they must be safe for a terminal, and b must
// not change from now on. If 256 calls are waiting, b is dropped and counted. After Close
// it does nothing.
func (t *Terminal) Print(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	select {
	case t.lines <- b:
	default:
		t.dropped += len(b)
	}
}

// redraw asks for a redraw, which comes within 100 ms unless the terminal is slow; it does not
// wait.
func (t *Terminal) redraw() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Close prints what is queued, wipes the block, restores the terminal, and returns how many
// bytes were not shown. It waits for the terminal, and for press to return. Further calls
// only return the number.
func (t *Terminal) Close() (dropped int) {
	t.once.Do(func() {
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
		if t.keys != nil {
			t.keys.close()
		}
		close(t.done)
		t.over.Wait()
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}

// loop draws until Close, and then what is queued. It is the goroutine that draws, after one
// call of enter.
func (t *Terminal) loop(signals <-chan os.Signal) {
	var above []byte
	var last time.Time
	tick := time.NewTicker(beat)
	defer tick.Stop()
	pending := time.NewTimer(0)
	defer pending.Stop()
	for {
		select {
		case b := <-t.lines:
			if above = append(above, b...); len(above) < 1<<16 {
				pending.Reset(soonest - time.Since(last))
				continue
			}
		case <-t.wake:
			pending.Reset(soonest - time.Since(last))
			continue
		case <-tick.C:
			t.enter() // the shell sends no signal for fg
		case <-pending.C:
		case s := <-signals:
			t.signal(s, signals)
		case <-t.done:
			for len(t.lines) > 0 {
				above = append(above, <-t.lines...)
			}
			t.draw(above, nil)
			return
		}
		t.draw(above, t.screen())
		above, last = above[:0], time.Now()
	}
}

// screen returns the lines to be shown at present; nil while the terminal's modes are not set,
// as in the background. Only the goroutine that draws may call it.
func (t *Terminal) screen() []string {
	if t.saved == nil {
		return nil // the terminal is not ours
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Terminals behave differently when the last column is written to.
	return t.run.Screen(time.Now(), Size{Width: t.width - 1, Height: t.height - 1, Color: t.color})
}

// Sequences of the terminal.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	noWrap     = "\x1b[?7l"
	wrap       = "\x1b[?7h"
	together   = "\x1b[?2026h" // terminals that know it show what follows at once
	shown      = "\x1b[?2026l"
	wipeBelow  = "\x1b[J"
	wipeRight  = "\x1b[K"
)

// draw prints above above the block and then the lines of the block that have changed. It
// leaves the cursor on the first of them. Only the goroutine that draws may call it.
func (t *Terminal) draw(above []byte, lines []string) {
	_, _ = t.out.Write(frame(above, t.drawn, lines)) // a closed terminal does not end the run
	t.drawn = lines
}

// frame returns the output that replaces the lines old, with the cursor on the first, by
// lines, with above printed before them; nil if nothing is to be changed.
func frame(above []byte, old, lines []string) []byte {
	var b bytes.Buffer
	whole := len(above) > 0 || len(old) != len(lines)
	if whole { // line by line: some terminals move a screen that is wiped at once to their history
		for i := range old {
			b.WriteString("\r" + wipeRight)
			if i < len(old)-1 {
				b.WriteString("\n")
			}
		}
		b.WriteString(back(len(old)))
		b.Write(bytes.ReplaceAll(above, []byte("\n"), []byte("\r\n")))
		old = make([]string, len(lines))
	}
	changed := whole
	b.WriteString(noWrap)
	for i, s := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if s != old[i] {
			changed = true
			b.WriteString("\r" + s + wipeRight)
		}
	}
	if !changed {
		return nil
	}
	b.WriteString(back(len(lines)) + wrap)
	return append(append([]byte(together), b.Bytes()...), shown...)
}

// back returns what moves the cursor from the last of this many lines to the begin of the
// first.
func back(lines int) string {
	if lines < 2 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", lines-1)
}

// wipe removes the block from the screen, so that the next redraw draws all of it. Only the
// goroutine that draws may call it.
func (t *Terminal) wipe() {
	if len(t.drawn) > 0 {
		_, _ = io.WriteString(t.out, "\r"+wipeBelow)
		t.drawn = nil
	}
}

// enter sets the terminal's modes if this process is in its foreground. It does nothing if
// they are set, or cannot be. Once the goroutine that draws has begun, only that may call it.
func (t *Terminal) enter() {
	if t.saved != nil || !foreground(t.out) {
		return
	}
	t.width, t.height = windowSize(t.out)
	saved, err := unbuffered(t.out)
	if err != nil {
		return
	}
	t.saved = saved
	_, _ = io.WriteString(t.out, hideCursor)
}

// leave wipes the block and restores the terminal, if this process is in its foreground; until
// enter no block is drawn. Only the goroutine that draws may call it.
func (t *Terminal) leave() {
	if t.saved != nil && foreground(t.out) { // else the shell has restored it
		t.wipe()
		_, _ = io.WriteString(t.out, showCursor)
		t.saved.restore(t.out)
	}
	t.saved, t.drawn = nil, nil
}
