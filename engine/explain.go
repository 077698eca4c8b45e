package engine

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
