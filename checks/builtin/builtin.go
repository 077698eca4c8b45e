// Package builtin runs the checks that are not policies: what anybody would stumble over who deploys a resource.
//
// Their results go the way of a policy's: new ones are told from those that the base had, exceptions cover them, and
// each stands on the line a person must edit. They are the rules of a policy that is called lintel:
//
//	spec:
//	  exceptions: [{policyName: lintel, ruleNames: [embedded-items]}]
//
// To add one, write a type with the methods of Check, in a folder of its own where it takes more than a file, and list
// it in All.
package builtin

import (
	"context"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
)

// Check looks at single resources as they are deployed. It is immutable and safe for concurrent use.
type Check interface {
	// Info says what the check is called and what its violations mean.
	Info() Info
	// Look returns what is wrong with a resource, nothing where all is well.
	Look(r *render.Resource) []Violation
}

// Info describes a check.
type Info struct {
	Name     string // the name of its rule, for findings and exceptions
	Severity string // critical, high, medium, low or info
	Outcome  engine.Outcome
	Enforce  bool // a failure blocks
}

// Violation is one thing that is wrong with a resource.
type Violation struct {
	Pointer string // RFC 6901, into the resource
	Message string
}

// Policy is the name that exceptions give for all checks.
const Policy = "lintel"

// All lists the checks.
func All() []Check { return append(resources(), deployment{}) }

// Results returns what checks say about a resource. rules are the policies with the exceptions that count, request is
// the one that the resource is part of.
func Results(ctx context.Context, checks []Check, r *render.Resource, rules *engine.Evaluator,
	request *admission.Request) []engine.Result {
	var out []engine.Result
	for _, c := range checks {
		violations := c.Look(r)
		if len(violations) == 0 {
			continue
		}
		info := c.Info()
		covering := rules.Covering(ctx, request, Policy, info.Name)
		for _, v := range violations {
			result := engine.Result{
				Policy: engine.PolicyRef{APIVersion: "checks.lintel.dev/v1", Kind: Kind, Name: Policy, Severity: info.Severity},
				Rule:   info.Name, Outcome: info.Outcome, Enforce: info.Enforce, Message: v.Message, Fields: []string{v.Pointer},
			}
			if len(covering) > 0 {
				result.Outcome, result.Exceptions = engine.Skip, covering[:1]
			}
			out = append(out, result)
		}
	}
	return out
}

// Kind is the kind of what results of checks are of, in place of a policy's.
const Kind = "Check"
