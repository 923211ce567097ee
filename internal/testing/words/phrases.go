package main

import (
	"regexp"
	"strings"
)

// phrases are those of the dialect, with what the field says instead.
var phrases = compile([]string{
	`gives?`, `gave`, // returns, writes, prints, has
	`tells?`, `told`, // reports, describes, shows; receives
	`says? that`, `said`, // reports, means
	`(?:is|are|was|were) none`, `none (?:is|are|was|were)`, // is empty, is missing, is zero
	`kept`, `(?:is|are|was|were|be|been) (?:dealt|handed)`, // stored, retained; split
	`hurr(?:y|ies)`, `rests`, `deaf`, // notifies, idles, stops listening
	`the way`,                                               // how
	`somebody`, `anybody`, `nobody`, `whoever`, `who asks?`, // the caller, the user, no one
	`stands? still`, `comes? again`, `goes on`, `go on`, `begun again`, // hangs, is redelivered, continues, restarted
	`an? earlier life`, `its? (?:next|own|earlier) life`, // the previous process
	`have somebody`, `has the \w+ look`, `looks? (?:for|by) itself`,
	`one follows the other`, `of one's own`, `it is there`, // in turn; own; exists
	`what came of`, `how it stands`, // the outcome
	`takes? (?:nothing|notice)`, `for ever`, `by then`, `whole, or not at all`,
	`anew`, `all the same`, `(?:is|are) no errors?`, // again; anyway; is not an error
})

// plain are uses of the same words that any English reader knows.
var plain = compile([]string{`kept (?:up|alive|open)`, `gives? (?:up|or take)`, `gave up`, `tells? (?:\w+ )?apart`})

// compile returns an expression for words with white space, as a line's end, between them.
func compile(all []string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(strings.Join(all, "|"), " ", `\s+`) + `)\b`)
}
