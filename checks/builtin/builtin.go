// Package builtin runs the checks that are not policies: what anybody would stumble over who deploys a resource.
//
// Their results go the way of a policy's: new ones are told from those that the base had, exceptions cover them, and
// each stands on the line a person must edit. They are the rules of a policy that is called lintel:
//
//	spec:
//	  exceptions: [{policyName: lintel, ruleNames: [embedded-items]}]
//
// To add one, write a function that looks, in a folder of its own where it takes more than a file, and list it in Always,
// or in switched where a repository may turn it off: its name is then a field of settings.Checks.
package builtin

import (
	"context"
	"sync"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// Check looks at single resources as they are deployed. It is safe for concurrent use.
type Check struct {
	Info
	// Violations returns what is wrong with an object, nothing where all is well.
	Violations func(ctx context.Context, s Deployed) []Violation
	// Fix returns what mends a violation at a pointer, as far as that is known. Nil: it never is.
	Fix func(ctx context.Context, s Deployed, pointer string) engine.SuggestedFix

	apis *apiFacts // what it knows of APIs; nil: nothing
}

// Deployed is an object that is looked at.
type Deployed struct {
	*render.Resource
	Old  *render.Resource // what it was before; nil where it is new
	Root roots.Root       // what deploys it

	Updated  bool // Old is what it takes the place of in the cluster
	Recreate bool // what deploys it deletes it and creates it again where it cannot be changed

	said *answer // what the API server says of it, which several checks tell of; nil: it was not asked yet
}

// DeployedOf is the object that a pair leaves behind.
func DeployedOf(p *diff.Pair) Deployed {
	return Deployed{Resource: p.New, Old: p.Earlier(), Root: p.Root, Updated: p.Operation == admission.Update,
		Recreate: p.Recreate}
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

// ForRootChecks returns those of them that judge whole roots.
func ForRootChecks(f Facts) []Check { return leave(f, switchedRootChecks()) }

// leave returns the checks that the settings leave on.
func leave(f Facts, switched []switchable) (list []Check) {
	f.apis = sync.OnceValue(f.newAPIs)
	for _, s := range switched {
		if level := f.Levels.Of(s.name); level != settings.LevelOff {
			check := s.compile(f)
			check.Enforce = level == settings.LevelEnforce
			list = append(list, check)
		}
	}
	return list
}

// Always returns the checks that cannot be switched off: they judge what rendering found out about a resource.
func Always() []Check {
	fails := func(issue render.Check, severity string) Check {
		return issueCheck(issue, Info{string(issue), severity, engine.Fail, true})
	}
	return []Check{
		fails(render.Unprintable, "high"),
		fails(render.EmbeddedItems, "high"),
		fails(render.ControllerRejects, "high"),
		issueCheck(render.ControllerUnknown, Info{string(render.ControllerUnknown), "medium", engine.Unknown, false}),
		issueCheck(render.ControllerSuspicious, Info{string(render.ControllerSuspicious), "low", engine.Fail, false}),
		fails(deploys, "high"),
	}
}

// issueCheck is the check that judges the issues of a name.
func issueCheck(name render.Check, info Info) Check {
	return Check{Info: info, Violations: func(_ context.Context, s Deployed) (list []Violation) {
		for _, issue := range s.Issues {
			if issue.Check == name {
				list = append(list, Violation{issue.Pointer, issue.Message})
			}
		}
		return list
	}}
}

// Names lists the rules of all checks.
func Names() (names []string) {
	for _, c := range Always() {
		names = append(names, c.Name)
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
	list := append(apis(), switchable{idleRule, func(Facts) Check {
		return Check{Info: warning(idleRule, "medium"), Violations: idleRules}
	}})
	return append(list, switchedRootChecks()...)
}

// Results returns what checks say about an object. rules are the policies with the exceptions that count, request is
// the one that it is part of.
func Results(ctx context.Context, checks []Check, s Deployed, rules *engine.Evaluator,
	request *admission.Request) []engine.Result {
	var out []engine.Result
	s.said = new(answer)
	for _, c := range checks {
		violations := c.Violations(ctx, s)
		if len(violations) == 0 {
			continue
		}
		covering := rules.Covering(ctx, request, Policy, c.Name)
		for _, v := range violations {
			result := engine.Result{
				Policy: engine.PolicyRef{APIVersion: "checks.lintel.dev/v1", Kind: Kind, Name: Policy, Severity: c.Severity},
				Rule:   c.Name, Outcome: c.Outcome, Enforce: c.Enforce, Message: v.Message, Fields: []string{v.Pointer},
			}
			if len(covering) > 0 {
				result.Outcome, result.Exceptions = engine.Skip, covering[:1]
			}
			out = append(out, result)
		}
	}
	return out
}

// Fixes returns what mends the failures of checks, by field, in the places of their results.
func Fixes(ctx context.Context, checks []Check, s Deployed, results []engine.Result) []map[string]engine.SuggestedFix {
	out := make([]map[string]engine.SuggestedFix, len(results))
	s.said = new(answer)
	for i, r := range results {
		if r.Policy.Kind != Kind || r.Outcome != engine.Fail {
			continue
		}
		for _, c := range checks {
			if c.Name != r.Rule || c.Fix == nil {
				continue
			}
			for _, field := range r.Fields {
				out[i] = map[string]engine.SuggestedFix{field: c.Fix(ctx, s, field)}
			}
		}
	}
	return out
}

// Kind is the kind of what results of checks are of, in place of a policy's.
const Kind = "Check"
