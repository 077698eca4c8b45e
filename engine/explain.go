package engine

import "github.com/lintel-bot/lintel/engine/cel"

// Uses are the parts of exceptions that a rule can use, apart from being skipped as a whole.
type Uses struct {
	cel.Allowances      // that its expressions read
	Controls       bool // the rule is about a Pod Security Standard: an exception can name controls of it
}

// Uses returns what a rule can use of exceptions. It is empty for a rule that is not in the set.
func (p *Policies) Uses(id RuleID) Uses {
	if g := p.byRef[id.Policy]; g != nil {
		return g.uses(id.Rule)
	}
	return Uses{}
}
