package main

import (
	"regexp"
	"strings"
)

// phrases are those of the dialect, with what the field says instead.
var phrases = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
	`gives?`, `gave`, // returns, writes, prints, has
	`tells?`, `told`, // reports, describes, shows; receives
	`says? (?:that|how|whether|which|what|where|why|so)`, `said`, // reports, means
	`(?:is|are|was|were) none`, `none (?:is|are|was|were)`, // is empty, is missing, is zero
	`(?:is|are|was|were|be|been) (?:kept|dealt|handed)`, `kept`, // stored, retained, split
	`hurr(?:y|ies)`, `rests`, `deaf`, // notifies, idles, stops listening
	`the way`, // how
	`somebody`, `anybody`, `nobody`, `whoever`, `who asks?`, // the caller, the user, no one
	`stands? still`, `comes? again`, `goes on`, `go on`, `begun again`, // hangs, is redelivered, continues, restarted
	`an? earlier life`, `its? (?:next|own|earlier) life`, // the previous process
	`have somebody`, `has the \w+ look`, `looks? (?:for|by) itself`,
	`one follows the other`, `of one's own`, `is there`, `are there`, `it is there`, // in turn; own; exists
	`as it comes`, `as they come`, `what came of`, `how it (?:stands|is)`,
	`takes? (?:nothing|notice)`, `for ever`, `by then`, `whole, or not at all`,
}, "|") + `)\b`)
