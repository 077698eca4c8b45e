package engine

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/mutate"
	"github.com/lintel-bot/lintel/engine/podsecurity"
)

// rulePolicy is a policy of kyverno.io: a list of rules, each with its own match.
type rulePolicy struct {
	ref        PolicyRef
	namespace  string // the namespace a namespaced policy applies to, empty for the others
	applyOne   bool   // only the first rule that applies counts
	report     bool   // the policy is not evaluated at admission: its failures never block
	warn       bool   // failures warn whoever makes the request
	ignore     bool   // the failure policy is Ignore: what cannot be evaluated does not block
	conditions *cel.Rule
	rules      []*rule
}

// rule is a compiled rule, as written or as generated for pod controllers.
type rule struct {
	policy         *rulePolicy
	name           string
	line           int
	match, exclude *match.Block
	plurals        []string // of the kinds it can be about, nil for any
	nothing        bool     // it names only kinds that do not exist
	body           body
	message        *text
	action         action

	namespace bool // it reads the namespace of the object
	selects   bool // it selects requests by their users
	asks      bool // it asks for the user

	tolerant bool // an update of an object that violates already may go on violating
	strict   bool // the rule says that it may not
	mutation *mutate.Mutation
	security *podsecurity.Check
	cel      *cel.Rule
}

// ruleStep is a rule with the exceptions that name it.
type ruleStep struct {
	*rule
	exceptions []*Exception
}

func (p *rulePolicy) reference() PolicyRef { return p.ref }

func (p *rulePolicy) ruleNames() []string {
	out := make([]string, len(p.rules))
	for i, r := range p.rules {
		out[i] = r.name
	}
	return out
}

func (p *rulePolicy) bind(exceptions []*Exception) []step {
	out, steps := make([]step, len(p.rules)), make([]ruleStep, len(p.rules))
	for i, r := range p.rules {
		steps[i].rule = r
		for _, x := range exceptions {
			if x.names(fullName(p.namespace, p.ref.Name), r.name) {
				steps[i].exceptions = append(steps[i].exceptions, x)
			}
		}
		out[i] = &steps[i]
	}
	return out
}

// rule finds a rule, nil if there is none. Names of generated rules are shortened and may be equal: then the line, if
// given, distinguishes them.
func (p *rulePolicy) rule(name string, line int) *rule {
	i := slices.IndexFunc(p.rules, func(r *rule) bool { return r.name == name && (line == 0 || r.line == line) })
	if i < 0 {
		return nil
	}
	return p.rules[i]
}

func (p *rulePolicy) uses(name string) Uses {
	r := p.rule(name, 0)
	return Uses{Controls: r != nil && r.security != nil}
}

func (s *ruleStep) plurals() []string { return s.rule.plurals }
func (s *ruleStep) nothing() bool     { return s.rule.nothing }

func (s *ruleStep) phase() phase {
	if s.mutation != nil {
		return mutates
	}
	return validates
}

func (s *ruleStep) evaluate(v *review) {
	if v.gate.policy != s.policy {
		v.gate = gate{policy: s.policy}
		var applies bool
		applies, v.gate.undecided = s.policy.applies(v.request)
		if !applies && v.log.On() {
			v.log.Add(s.policy.otherNamespace(v.request))
		}
		v.gate.shut = !applies || s.policy.conditions != nil && !v.conditions(s.policy)
		if v.log.On() {
			v.traced.gate = v.log.Steps()
		}
	} else if v.log.On() {
		v.log.Add(v.traced.gate...)
	}
	if v.gate.shut {
		return
	}
	r, more, ok := v.rule(s)
	if !ok {
		return
	}
	v.add(r)
	for _, d := range more {
		next := r
		next.Message, next.Fields = d.message, d.fields
		v.add(next)
	}
	v.gate.shut = s.policy.applyOne && r.Outcome != Skip && !v.gate.doubtful
	if v.gate.shut && v.log.On() {
		v.traced.gate = []explain.Step{{Part: explain.Once, Words: "rule " + s.rule.name + " was enough"}}
	}
}

// gate is closed while no further rules of the current policy are evaluated: the policy does not apply to the request,
// or applyRules is One and one rule was applied.
type gate struct {
	policy    *rulePolicy
	shut      bool
	doubtful  bool  // whether the last rule is about the request is not known
	undecided error // whether the policy is about the request is not known: why
}

// applies reports whether a namespaced policy applies to a request, or may apply, and then what is unknown. Other
// policies apply to all requests.
func (p *rulePolicy) applies(r *admission.Request) (bool, error) {
	if p.namespace == "" {
		return true, nil
	}
	var undecided error
	for _, o := range []admission.Object{r.Object, r.OldObject} {
		id := admission.IdentityOf(o)
		switch {
		case o == nil || id.Namespace == p.namespace:
		case r.Unplaced(id):
			undecided = admission.NeedsNamespace(id)
		default:
			return false, nil
		}
	}
	return true, undecided
}

// conditions reports whether the match conditions of a policy's webhook are met. If one cannot be evaluated, it adds an
// error result.
func (v *review) conditions(p *rulePolicy) (met bool) {
	defer func() {
		if x := recover(); x != nil {
			v.add(Result{Policy: p.ref, Decision: crashed(p.ref, x)})
			met = false
		}
	}()
	res := p.conditions.Evaluate(v.ctx, v.request, v.celLog())
	switch res.Outcome {
	case Pass:
		return true
	case Skip:
		return false
	}
	r := Result{Policy: p.ref, Decision: Decision{Line: p.ref.Line, Outcome: res.Outcome, Message: res.Message,
		Fields: []string{""}, Old: v.request.Object == nil}}
	for _, rule := range p.rules {
		enforced, known := rule.action.enforced(v.target)
		r.Enforce = r.Enforce || enforced && !(p.ignore && res.Outcome == Error)
		r.Unsure = r.Unsure || !known
	}
	v.add(r)
	return false
}
