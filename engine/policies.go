package engine

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Policies is a set of compiled policies, in the order of their files. It is immutable and safe for
// concurrent use.
type Policies struct {
	programs    []*program
	byRef       map[PolicyRef]*program
	unsupported []policy.Problem
	options     Options
}

// program is one compiled policy: rules of kyverno.io, or a policy that is CEL as a whole.
type program struct {
	ref        PolicyRef
	namespace  string // the namespace a namespaced policy applies to, empty for the others
	applyOne   bool   // only the first rule that applies counts
	report     bool   // the policy is not evaluated at admission: its failures never block
	warn       bool   // failures warn whoever makes the request
	conditions *cel.Rule
	rules      []*rule
	cel        *cel.Policy
	mutating   *cel.Mutating
}

// rule is a compiled rule, as written or as generated for pod controllers.
type rule struct {
	policy         *program
	name           string
	line           int
	match, exclude *match.Block
	kinds          []string // the kinds it can be about, nil for any
	body           body
	message        *text
	action         action

	extractors map[string][]extractor // by kind, nil for most rules

	tolerant bool // an update of an object that violates already may go on violating
	mutation *mutation
	security *security
	cel      *cel.Rule
}

// List describes the policies, in the order they are evaluated.
func (p *Policies) List() []PolicyInfo {
	out := make([]PolicyInfo, 0, len(p.programs))
	for _, g := range p.programs {
		info := PolicyInfo{PolicyRef: g.ref}
		for _, r := range g.rules {
			info.Rules = append(info.Rules, r.name)
		}
		out = append(out, info)
	}
	return out
}

// Unsupported lists, once each, the policies and rules that are only evaluated in a cluster (generation,
// clean-up, image verification, mutation of other objects). They are no pass.
func (p *Policies) Unsupported() []policy.Problem { return slices.Clone(p.unsupported) }
