// Package report writes reports of runs, for people and for programs.
//
// Each [Format] writes a result ([run.Result]) and its series to an io.Writer: CSV, Markdown,
// JUnit, HTML and JSON; [Text] writes the report that a terminal shows, [Line] one interval of
// an active run, and [Compare] compares two runs. [Read] reads what JSON wrote. Names and texts
// from outside are made safe for the program that reads the format. Nothing is stored between
// calls, so any number of reports may be written at once.
package report
