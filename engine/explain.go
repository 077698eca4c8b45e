package engine

import (
	"cmp"
	"slices"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Expected returns in words what the pattern of a rule asks of the field (an RFC 6901 pointer) at which the result
// says it fails: "at most 1Gi". It is "" where there is no pattern, where a variable decides, or where more than one
// alternative does. It comes from the rule that was evaluated, as rendered and as generated for pod controllers.
func (p *Policies) Expected(r Result, field string) string {
	g := p.byRef[r.Policy]
	if g == nil || r.Outcome != Fail || r.Old {
		return ""
	}
	return g.expected(r, field)
}

func (a *alternative) expects(field string) string {
	p := cmp.Or(a.fixed, a.written)
	if p == nil || field == "" {
		return ""
	}
	return p.Expects(slices.Collect(jsonpointer.Tokens(field))...)
}

// Uses is what a rule can use of exceptions besides being skipped as a whole.
type Uses struct {
	Images bool // the expressions read kyverno.excludedImages or exceptions.allowedImages
	// Values are the names of allowedValues that the expressions read, sorted, each once; "" is the list without names.
	Values   []string
	Controls bool // the rule is about a Pod Security Standard: an exception can name controls of it
}

// Uses returns what a rule can use of exceptions; nothing for a rule that the set does not have.
func (p *Policies) Uses(id RuleID) Uses {
	if g := p.byRef[id.Policy]; g != nil {
		return g.uses(id.Rule)
	}
	return Uses{}
}
