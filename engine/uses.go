package engine

import (
	"slices"
	"strings"
)

// Expected returns in words what the pattern of a rule asks of the field (an RFC 6901 pointer) at which the result
// says it fails: "at most 1Gi". It is "" where there is no pattern, where a variable decides, or where more than one
// alternative does. It comes from the rule that was evaluated, as rendered and as generated for pod controllers.
func (p *Policies) Expected(r Result, field string) string {
	if r.Outcome != Fail || r.Old {
		return ""
	}
	rule := p.rule(r.ID(), r.Line)
	if rule == nil || rule.body.pattern == nil {
		return ""
	}
	return rule.body.pattern.expects(field)
}

func (a *alternative) expects(field string) string {
	p := a.fixed
	if p == nil {
		p = a.written
	}
	if p == nil || field == "" {
		return ""
	}
	tokens := strings.Split(field[1:], "/")
	for i, t := range tokens {
		tokens[i] = unescape(t)
	}
	return p.Expects(tokens...)
}

// Uses is what a rule can use of exceptions besides being skipped as a whole.
type Uses struct {
	Images bool // the expressions read kyverno.excludedImages or exceptions.allowedImages
	// Values are the names of allowedValues that the expressions read, sorted, each once; "" is the list without
	// names.
	Values   []string
	Controls bool // the rule is about a Pod Security Standard: an exception can name controls of it
}

// Uses returns what a rule can use of exceptions; nothing for a rule that the set does not have.
func (p *Policies) Uses(id RuleID) Uses {
	g := p.byRef[id.Policy]
	switch {
	case g == nil:
		return Uses{}
	case g.cel != nil:
		a := g.cel.Allowances()
		return Uses{Images: a.Images, Values: a.Values}
	case g.mutating != nil:
		a := g.mutating.Allowances()
		return Uses{Images: a.Images, Values: a.Values}
	}
	r := p.rule(id, 0)
	return Uses{Controls: r != nil && r.security != nil}
}

// rule finds a compiled rule, nil where there is none. Names of generated rules are cut and may be the same: the
// line, where it is given, tells them apart.
func (p *Policies) rule(id RuleID, line int) *rule {
	g := p.byRef[id.Policy]
	if g == nil {
		return nil
	}
	i := slices.IndexFunc(g.rules, func(r *rule) bool { return r.name == id.Rule && (line == 0 || r.line == line) })
	if i < 0 {
		return nil
	}
	return g.rules[i]
}
