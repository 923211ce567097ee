// Package scripts tests the gobench program from the outside: it runs the scripts of
// testdata/script, and gobench http with each flag of its connections against real servers.
//
// A script is a file of github.com/rogpeppe/go-internal/testscript. The commands that we add
// to it, such as exits, served and field, are functions of this package with the same names.
package scripts
