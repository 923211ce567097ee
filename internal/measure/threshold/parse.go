package threshold

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// parse parses an expression. Its error is a *SyntaxError.
//
// What depends on the run's metrics, as whether a title exists or a histogram holds times, is
// found by Suits, or during the run.
func parse(text string) (Threshold, error) {
	tokens, err := lex(text)
	if err != nil {
		return Threshold{}, err
	}
	p := &parser{text: text, tokens: tokens}
	t, err := p.threshold()
	if err != nil {
		return Threshold{}, err
	}
	return t, nil
}

// parser is a position in the tokens of an expression. Each of the methods metric to abort
// parses the next part into t and returns a *SyntaxError if it is wrong; over and abort do
// nothing if theirs is absent.
type parser struct {
	text   string
	tokens []token
}

func (p *parser) peek() token { return p.tokens[0] }

// next returns a token and advances; it stays at the end.
func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != end {
		p.tokens = p.tokens[1:]
	}
	return t
}

// want returns the error that t is not what was expected, 'want WHAT, not "t"'.
func (p *parser) want(t token, what string) error {
	got := "the end"
	if t.kind != end {
		got = strconv.Quote(t.text)
	}
	return wrong(p.text, t.at, "want "+what+", not "+got)
}

// threshold parses the whole expression. With an error, a *SyntaxError, t has what was parsed
// before.
func (p *parser) threshold() (t Threshold, err error) {
	steps := []func(*Threshold) error{p.metric, p.stat, p.operator, p.value, p.over, p.abort}
	for _, step := range steps {
		if err := step(&t); err != nil {
			return t, err
		}
	}
	if last := p.peek(); last.kind != end {
		rest := `the end, "over" or "abort"`
		switch {
		case t.Abort:
			rest = "the end"
		case t.Over > 0:
			rest = `the end or "abort"`
		}
		return t, p.want(last, rest)
	}
	return t, nil
}

const titles = `a metric's title, as home.latency, or check "name"`

// metric parses a title, or check "name", into Metric and Check.
func (p *parser) metric(t *Threshold) error {
	first := p.next()
	if first.kind != word && first.kind != quoted || first.text == "" {
		return p.want(first, titles)
	}
	if t.Metric = first.text; first.kind == word && first.text == "check" && p.peek().kind == quoted {
		name := p.next()
		if name.text == "" {
			return p.want(name, "the check's name")
		}
		t.Metric, t.Check = name.text, true
	}
	return nil
}

const stats = "a statistic: avg, min, max, stdev, a percentile as p99 or p99.9, count, rps, rate or value"

// stat parses a statistic into Stat; of a check only rate is accepted.
func (p *parser) stat(t *Threshold) error {
	s := p.next()
	known := s.text == "count" || s.text == "rps" || s.text == "rate" || s.text == "value" || ofDistribution(s.text)
	switch {
	case s.kind != word || !known:
		return p.want(s, stats)
	case t.Check && s.text != "rate":
		return p.want(s, "rate: the share of a check that passed")
	}
	t.Stat = s.text
	return nil
}

// operator parses one of < <= > >= == != into Op.
func (p *parser) operator(t *Threshold) error {
	op := p.next()
	switch op.text {
	case "<", "<=", ">", ">=", "==", "!=":
		if op.kind == operator {
			t.Op = op.text
			return nil
		}
	}
	return p.want(op, "one of < <= > >= == !=")
}

// value parses a number and its unit, with or without a space between, into Number and
// Unit. A unit that the statistic cannot have is an error.
func (p *parser) value(t *Threshold) error {
	number := p.next()
	digits := len(number.text) - len(strings.TrimLeft(number.text, "-.0123456789"))
	v, err := strconv.ParseFloat(number.text[:digits], 64)
	if number.kind != word || err != nil || math.IsInf(v, 0) {
		return p.want(number, "a number, as 200ms, 1% or 500")
	}
	if v != 0 { // never -0
		t.Number = v
	}
	name, at := number.text[digits:], number.at+digits
	if s := p.peek(); name == "" && s.kind == word && s.text != "over" && s.text != "abort" {
		name, at = s.text, s.at
		p.next()
	}
	if name == "µs" || name == "μs" {
		name = "us"
	}
	u, known := units[name]
	if !known {
		return wrong(p.text, at, "no unit is called "+strconv.Quote(name)+": want ns, us, ms, s, m, B, KB, MB, GB, KiB, MiB, GiB or %")
	}
	t.Unit = name
	return p.fits(t, u.kind, number.at, at)
}

// fits returns a *SyntaxError if the statistic cannot have a unit of kind k. value and unit
// are where the tokens begin, in bytes.
func (p *parser) fits(t *Threshold, k kind, value, unit int) error {
	switch {
	case t.Stat == "rate" && k != share:
		return wrong(p.text, unit, "a rate is a share: write it with %, as 1% or 99.9%")
	case t.Stat == "rate" && (t.Number < 0 || t.Number > 100):
		return wrong(p.text, value, "a rate is from 0% to 100%")
	case t.Stat != "rate" && k == share:
		return wrong(p.text, unit, "% is for a rate only, not for "+t.Stat)
	case (t.Stat == "count" || t.Stat == "rps") && k == duration:
		return wrong(p.text, unit, t.Stat+" is not a time: want a plain number, or bytes")
	}
	return nil
}

// over parses "over TIME" into Over, a time above 0; without it, Over stays 0.
func (p *parser) over(t *Threshold) error {
	if s := p.peek(); s.kind != word || s.text != "over" {
		return nil
	}
	p.next()
	s := p.next()
	d, err := time.ParseDuration(s.text)
	if s.kind != word || err != nil || d <= 0 {
		return p.want(s, "a time above 0, as 10s or 1m30s")
	}
	t.Over = d
	return nil
}

// abort parses "abort"; without it, Abort stays false. It always returns nil.
func (p *parser) abort(t *Threshold) error {
	if s := p.peek(); s.kind == word && s.text == "abort" {
		p.next()
		t.Abort = true
	}
	return nil
}
