package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/match"
)

// Trace is why a rule, or a policy that has none, said what it said about a request, or nothing.
type Trace struct {
	Policy  PolicyRef
	Rule    string
	Line    int
	Outcome Outcome // "" where it is not about the request
	Enforce bool
	Steps   []explain.Step // in the order in which they were looked at
	More    int            // how many steps were too many to be kept
}

// Trace is Evaluate, and says why of each policy and rule of the set, of those that are not about the request, too. It
// takes several times as long. What it says holds values of the objects as they are.
func (e *Evaluator) Trace(ctx context.Context, r *admission.Request) ([]Result, []Trace) {
	v := e.newReview(ctx, r)
	v.log = &explain.Log{}
	v.traced = &traced{rules: make([]Trace, len(e.steps))}
	return e.evaluate(v), v.traced.rules
}

// traced is what was told of a review so far.
type traced struct {
	rules []Trace        // by step
	gate  []explain.Step // of the policy whose turn it is: why it is shut or not
}

// record takes what was logged of a step.
func (v *review) record(i int, results []placed) {
	s := v.steps[i]
	t := Trace{Policy: v.policies.list[s.policy].reference()}
	t.Rule, t.Line = s.called()
	for _, r := range results {
		if t.Outcome == "" || t.Outcome == Pass || t.Outcome == Skip { // what comes later may be worse
			t.Outcome, t.Enforce, t.Line = r.Outcome, r.Enforce, cmp.Or(r.Line, t.Line)
		}
	}
	t.Steps, t.More = v.log.Take()
	v.traced.rules[i] = t
}

// leftOut says of the steps that the index did not choose why they are not about the request.
func (v *review) leftOut() {
	for i, s := range v.steps {
		if len(v.traced.rules[i].Steps) == 0 && v.traced.rules[i].Outcome == "" {
			s.explainMatch(v)
			v.record(i, nil)
		}
	}
}

// celLog is what expressions are evaluated with, and a log of them where somebody wants to know.
func (v *review) celLog() cel.Env {
	env := v.celEnv
	env.Log = v.log
	return env
}

func (s *ruleStep) called() (string, int) { return s.rule.name, s.line }

func (s *ruleStep) explainMatch(v *review) {
	if applies, _ := s.policy.applies(v.request); !applies {
		v.log.Add(s.policy.otherNamespace(v.request))
		return
	}
	v.log.Add(match.Explain(s.match, s.exclude, v.target)...)
	if s.mutation != nil && v.request.Object == nil {
		v.logDeletion(explain.Mutate)
	}
}

// otherNamespace is the step of a namespaced policy that is not about a request.
func (p *rulePolicy) otherNamespace(r *admission.Request) explain.Step {
	return explain.Step{Part: explain.Namespace,
		Words: fmt.Sprintf("the policy applies to namespace %s, not %q", p.namespace, r.Identity().Namespace)}
}
