// Package ui holds the pages that gobench shows in a browser, as npm built them from
// src: see README.md.
package ui

import _ "embed"

// Report is the page of one run, with the comment <!--run--> where its data go.
//
//go:embed dist/report.html
var Report []byte
