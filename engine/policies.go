package engine

import (
	"slices"
	"time"

	"github.com/lintel-bot/lintel/engine/policy"
)

// Policies is a set of compiled policies, in the order of their files. It is immutable and safe for concurrent use.
type Policies struct {
	list        []compiled
	byRef       map[PolicyRef]compiled
	about       map[PolicyRef]About
	unsupported []policy.Problem
	options     Options
}

// About is a policy's description of itself, from its annotations policies.kyverno.io/title, /description and
// /category.
type About struct{ Title, Description, Category string }

// About returns the description of a policy of the set.
func (p *Policies) About(ref PolicyRef) About { return p.about[ref] }

// At returns the same policies with another clock, since policies are compiled once and used for many checks.
func (p *Policies) At(now time.Time) *Policies {
	other := *p
	other.options.Now = now
	return &other
}

// List describes the policies, in the order in which they are evaluated.
func (p *Policies) List() []PolicyInfo {
	out := make([]PolicyInfo, 0, len(p.list))
	for _, g := range p.list {
		out = append(out, PolicyInfo{g.reference(), g.ruleNames(), matchesNothing(g)})
	}
	return out
}

// matchesNothing reports whether a policy names only kinds and versions that certainly do not exist.
func matchesNothing(g compiled) bool {
	steps := g.bind(nil)
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(s step) bool { return !s.nothing() })
}

// Unsupported lists the policies and rules that are evaluated only in a cluster, without duplicates: generation,
// clean-up, image verification, mutation of other objects. They do not count as passed.
func (p *Policies) Unsupported() []policy.Problem { return slices.Clone(p.unsupported) }
