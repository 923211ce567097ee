// Package live shows a run while it goes on, on a terminal: a block of lines at the
// bottom that is drawn anew as figures come, and above it, scrolling up as ever,
// what there is to say.
//
// Events ([event.Event]) tell what happens in a run; a [Run] is what they come to, [Run.Screen]
// how that looks in so many columns and lines, and a [Terminal] draws it. Where there
// is no terminal the same events are lines of text, or of JSON: docs/terminal.md and
// docs/formats/events.md.
package live
