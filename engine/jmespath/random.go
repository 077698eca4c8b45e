package jmespath

import (
	"hash/fnv"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// maxDraw is the longest text that random makes, in characters.
const maxDraw = 4096

// maxRepeat stands for the open end of *, + and {n,}.
const maxRepeat = 32

// random draws text that matches a regular expression. The draw depends on the seed, the expression and the number of
// draws before it in the same evaluation, and on nothing else: an evaluation that is repeated gives the same answer.
func random(c *call) (any, error) {
	source := c.str(0)
	if source == "" {
		return nil, c.fail("no pattern provided")
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, c.fail("argument #1 is not a regular expression")
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(source)) // never fails
	d := drawer{call: c, rng: rand.New(rand.NewPCG(c.env.Seed, h.Sum64()+c.draws))}
	c.draws++
	if err := d.draw(tree); err != nil {
		return nil, err
	}
	return c.made(d.out.String())
}

type drawer struct {
	*call
	rng   *rand.Rand
	out   strings.Builder
	drawn int
}

func (d *drawer) draw(re *syntax.Regexp) error {
	if err := d.tick(); err != nil {
		return err
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if err := d.emit(r); err != nil {
				return err
			}
		}
	case syntax.OpCharClass:
		return d.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return d.emit(rune(' ' + d.rng.IntN('~'-' '+1)))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			if err := d.draw(sub); err != nil {
				return err
			}
		}
	case syntax.OpAlternate:
		return d.draw(re.Sub[d.rng.IntN(len(re.Sub))])
	case syntax.OpStar:
		return d.repeat(re.Sub[0], 0, maxRepeat)
	case syntax.OpPlus:
		return d.repeat(re.Sub[0], 1, maxRepeat)
	case syntax.OpQuest:
		return d.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = max(re.Min, maxRepeat)
		}
		return d.repeat(re.Sub[0], re.Min, most)
	case syntax.OpNoMatch:
		return d.fail("nothing matches the pattern")
	}
	return nil // anchors and empty matches draw nothing
}

func (d *drawer) repeat(re *syntax.Regexp, least, most int) error {
	for range least + d.rng.IntN(most-least+1) {
		if err := d.draw(re); err != nil {
			return err
		}
	}
	return nil
}

// class draws evenly from the ranges of a character class, printable ASCII where it has any.
func (d *drawer) class(ranges []rune) error {
	pick := func(low, high rune) (rune, bool) {
		total := 0
		for i := 0; i < len(ranges); i += 2 {
			total += max(0, int(min(ranges[i+1], high)-max(ranges[i], low))+1)
		}
		if total == 0 {
			return 0, false
		}
		n := d.rng.IntN(total)
		for i := 0; i < len(ranges); i += 2 {
			from := max(ranges[i], low)
			size := max(0, int(min(ranges[i+1], high)-from)+1)
			if n < size {
				return from + rune(n), true
			}
			n -= size
		}
		return 0, false
	}
	if r, ok := pick(' ', '~'); ok {
		return d.emit(r)
	}
	if r, ok := pick(0, 0x10FFFF); ok {
		return d.emit(r)
	}
	return d.fail("nothing matches the pattern")
}

func (d *drawer) emit(r rune) error {
	if d.drawn++; d.drawn > maxDraw {
		return &LimitError{What: "random characters", Limit: maxDraw}
	}
	d.out.WriteRune(r)
	return nil
}
