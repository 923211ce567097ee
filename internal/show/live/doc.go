// Package live shows an active run on a terminal: a block of lines at the bottom that is
// redrawn as figures arrive, and above it messages, which scroll up.
//
// Events ([event.Event]) report what happens in a run; a [Run] is the state that they lead
// to, [Run.Screen] renders it in a number of columns and lines, and a [Terminal] draws
// that. Without a terminal the same events are written as lines of text or of JSON:
// docs/terminal.md and docs/formats/events.md.
package live
