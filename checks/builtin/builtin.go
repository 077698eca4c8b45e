// Package builtin runs the checks that are not policies: what anybody would stumble over who deploys a resource.
//
// Their results go the way of a policy's: new ones are told from those that the base had, exceptions cover them, and
// each stands on the line a person must edit. They are the rules of a policy that is called lintel:
//
//	spec:
//	  exceptions: [{policyName: lintel, ruleNames: [embedded-items]}]
//
// To add one, write a type with the methods of Check, in a folder of its own where it takes more than a file, and list
// it in resources, or in switched where a repository may turn it off: its name is then a field of settings.Checks.
package builtin

import (
	"context"
	"sync"

	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// Check looks at single resources as they are deployed. It is safe for concurrent use.
type Check interface {
	// Info says what the check is called and what its violations mean.
	Info() Info
	// Look returns what is wrong with an object, nothing where all is well.
	Look(ctx context.Context, s Subject) []Violation
}

// Subject is an object that is looked at.
type Subject struct {
	*render.Resource
	Old  *render.Resource // what it was before; nil where it is new
	Root roots.Root       // what deploys it
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

// Facts are what checks know of the cluster that resources are deployed to.
type Facts struct {
	Kubernetes string            // its version ("1.33"); empty where nobody says
	Cluster    admission.Cluster // what is declared: definitions of custom resources
	Levels     settings.Checks   // what is looked at

	apis func() *apiFacts // what follows from them for the checks of API versions and fields; nil: not known yet
}

// Policy is the name that exceptions give for all checks.
const Policy = "lintel"

// FactsOf are the facts by one version of the settings, and by what is declared.
func FactsOf(s *settings.Settings, cluster admission.Cluster) Facts {
	return Facts{Kubernetes: s.Version(), Cluster: cluster, Levels: s.Checks}
}

// For returns the checks of resources in one cluster: those that always look, and those that its settings leave on.
func For(f Facts) []Check {
	return append(Always(), leave(f, switched())...)
}

// ForSurveys returns those of them that judge what Look finds.
func ForSurveys(f Facts) []Check { return leave(f, surveyed()) }

// leave returns the checks that the settings leave on.
func leave(f Facts, switched []switchable) (list []Check) {
	f.apis = sync.OnceValue(f.newAPIs)
	for _, s := range switched {
		if level := f.Levels.Of(s.name); level != settings.LevelOff {
			list = append(list, leveled{s.compile(f), level == settings.LevelEnforce})
		}
	}
	return list
}

// Always returns the checks that cannot be switched off.
func Always() []Check { return append(resources(), deployment{}) }

// Names lists the rules of all checks.
func Names() (names []string) {
	for _, c := range Always() {
		names = append(names, c.Info().Name)
	}
	for _, s := range switched() {
		names = append(names, s.name)
	}
	return names
}

// switchable is a check that a repository may switch off.
type switchable struct {
	name    string // a field of settings.Checks
	compile func(Facts) Check
}

func switched() []switchable {
	list := append(apis(), switchable{"idle-rule", func(Facts) Check { return idleRule{} }})
	return append(list, surveyed()...)
}

// leveled is a check as the settings want it.
type leveled struct {
	Check
	enforce bool
}

// Info implements Check.
func (c leveled) Info() Info {
	info := c.Check.Info()
	info.Enforce = c.enforce
	return info
}

// Results returns what checks say about an object. rules are the policies with the exceptions that count, request is
// the one that it is part of.
func Results(ctx context.Context, checks []Check, s Subject, rules *engine.Evaluator,
	request *admission.Request) []engine.Result {
	var out []engine.Result
	for _, c := range checks {
		violations := c.Look(ctx, s)
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
