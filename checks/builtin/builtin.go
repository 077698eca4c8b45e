// Package builtin runs the checks that are not policies: errors that anybody would hit who deploys a resource.
//
// Their results are treated like those of policies: new ones are distinguished from pre-existing ones, exceptions cover
// them, and each has the line that a person must edit. They are the rules of a policy with the name lintel:
//
//	spec:
//	  exceptions: [{policyName: lintel, ruleNames: [embedded-items]}]
//
// To add a check, write a function that returns violations, in its own folder if it needs more than a file. List it in
// Always, or in switched if a repository may turn it off: its name is then a field of settings.Checks.
package builtin

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// Check checks single resources as they are deployed. It is safe for concurrent use.
type Check struct {
	Info
	// Violations returns the violations of an object.
	Violations func(ctx context.Context, s Deployed) []Violation
	// Removed returns the violations of a deletion; s has only Old. Nil: none ever is.
	Removed func(ctx context.Context, s Deployed) []Violation
	// Fix returns a fix for the violation at a pointer, if one is known. Nil: it never is.
	Fix func(ctx context.Context, s Deployed, pointer string) engine.SuggestedFix

	apis *apiFacts // what is known about the cluster's APIs; nil for checks of whole roots
}

// Deployed is a deployed object that is checked.
type Deployed struct {
	*render.Resource                  // nil if it is deleted
	Old              *render.Resource // the object before the change; nil if it is new
	Root             roots.Root       // what deploys it

	Replaced *render.Resource // the object that its deployer deletes to create it; nil if there is none

	Updated  bool // Old is the object that it replaces in the cluster
	Recreate bool // its deployer deletes it and creates it again if it cannot be updated

	rendered *render.Resource // the object before its mutate rules; nil: none changed it
	mutated  bool             // mutate rules changed it or Old

	rules   *engine.Evaluator  // what evaluates the policies for other objects
	request *admission.Request // the admission request of the object

	said *answer // the answer of the API server, shared by several checks; nil: not computed yet
}

// DeployedOf returns the object of a pair after the change.
func DeployedOf(p *diff.Pair) Deployed {
	old := p.Earlier()
	if p.Operation == admission.Delete {
		old = p.Old
	}
	return Deployed{Resource: p.New, Old: old, Root: p.Root, Updated: p.Operation == admission.Update,
		Recreate: p.Recreate, Replaced: p.Replaced}
}

// Mutated returns the object, and the one before it, as mutate rules leave them, since the API server validates those.
func (s Deployed) Mutated(mutate func(admission.Object) admission.Object) Deployed {
	by := func(r *render.Resource) *render.Resource {
		if r == nil {
			return nil
		}
		object := mutate(r.Object)
		if reflect.DeepEqual(object, r.Object) {
			return r
		}
		return r.Admitted(object)
	}
	if now := by(s.Resource); now != s.Resource {
		s.rendered, s.Resource = s.Resource, now
		now.Issues = slices.Clone(now.Issues)
		for i := range now.Issues {
			now.Issues[i].Pointer = s.moved(now.Issues[i].Pointer)
		}
	}
	old := by(s.Old)
	s.Old, s.mutated = old, s.rendered != nil || old != s.Old
	return s
}

// moved returns where mutate rules leave a field of the rendered object; its own pointer if they remove it.
func (s Deployed) moved(pointer string) string {
	at, ok := diff.NewVersions(s.Object, s.rendered.Object).Earlier(pointer)
	if !ok {
		return pointer
	}
	return at
}

// replaced returns the object that it replaces in the cluster, as it was applied; nil if there is none.
func (s Deployed) replaced() map[string]any {
	if s.Updated && s.Old != nil {
		return s.applied(s.Old)
	}
	return nil
}

// applied returns an object as its deployer applies it: without what the API server makes of it. It is not known what mutate
// rules would leave of that: where they change it or the one before, it is returned as they leave it. The data of a Secret that
// SOPS encrypted is replaced, see schema.Decrypted.
func (s Deployed) applied(r *render.Resource) map[string]any {
	if s.mutated {
		return schema.Decrypted(r.Object)
	}
	out := maps.Clone(r.Made())
	out["metadata"] = r.Object["metadata"] // with what Argo CD and Flux set
	return schema.Decrypted(out)
}

// Info describes a check.
type Info struct {
	Name     string // the name of its rule, for findings and exceptions
	Severity string // critical, high, medium, low or info
	Outcome  engine.Outcome
	Enforce  bool // a failure blocks
}

// Violation is one error of a resource.
type Violation struct {
	Pointer string // RFC 6901, into the resource
	Message string
}

// Facts is what the checks know about the cluster.
type Facts struct {
	Kubernetes string            // its version ("1.33"); empty if unknown
	Cluster    admission.Cluster // what is declared: definitions of custom resources
	Levels     settings.Checks   // the levels of the checks
	Complete   []string          // kinds of which everything that the cluster has is declared

	apis *apiFacts // for the checks of API versions and fields
}

// Policy is the policy name of all built-in checks, for exceptions.
const Policy = "lintel"

// FactsOf returns the facts according to settings and declared objects.
func FactsOf(s *settings.Settings, cluster admission.Cluster) Facts {
	return Facts{Kubernetes: s.Version(), Cluster: cluster, Levels: s.Checks, Complete: s.Complete()}
}

// For returns the checks of resources in one cluster: those that are always on, and those that the settings leave on.
func For(f Facts) []Check {
	f.apis = f.newAPIs()
	list := append(always(f.apis), leave(f, switched())...)
	for i := range list {
		list[i].apis = f.apis
	}
	return list
}

// ForRootChecks returns the checks for issues of whole roots that the settings leave on.
func ForRootChecks(f Facts) []Check { return leave(f, switchedRootChecks()) }

// leave returns the checks that the settings leave on.
func leave(f Facts, switched []switchable) (list []Check) {
	for _, s := range switched {
		if level := f.Levels.Of(s.name); level != settings.LevelOff {
			check := s.compile(f)
			check.Enforce = level == settings.LevelEnforce
			list = append(list, check)
		}
	}
	return list
}

// Always returns the checks that cannot be turned off: they report issues that rendering found, and what Argo CD rejects.
func Always() []Check { return always(nil) }

// always is Always, with what is known of a cluster.
func always(f *apiFacts) []Check {
	fails := func(issue render.Check) Check {
		return issueCheck(issue, Info{string(issue), "high", engine.Fail, true})
	}
	rejects := fails(render.ControllerRejects)
	rendered := rejects.Violations
	rejects.Violations = func(ctx context.Context, s Deployed) []Violation {
		list := append(rendered(ctx, s), destinations(ctx, s)...)
		if f != nil {
			list = slices.Concat(list, f.violations(ctx, unpermitted, s), f.violations(ctx, circular, s))
		}
		return list
	}
	rejects.Removed = func(ctx context.Context, s Deployed) []Violation { return f.goes(ctx, s, true) }
	advice := issueCheck(render.ControllerSuspicious, Info{string(render.ControllerSuspicious), "low", engine.Fail, false})
	advised := advice.Violations
	advice.Violations = func(ctx context.Context, s Deployed) []Violation {
		list := advised(ctx, s)
		if f != nil {
			list = append(list, f.violations(ctx, undeclared, s)...)
		}
		return list
	}
	advice.Removed = func(ctx context.Context, s Deployed) []Violation { return f.goes(ctx, s, false) }
	return []Check{
		fails(render.Unprintable),
		fails(render.EmbeddedItems),
		rejects,
		issueCheck(render.ControllerUnknown, Info{string(render.ControllerUnknown), "medium", engine.Unknown, false}),
		advice,
		fails(deploys),
	}
}

// issueCheck returns the check that reports the issues with a name.
func issueCheck(name render.Check, info Info) Check {
	return Check{Info: info, Violations: func(_ context.Context, s Deployed) []Violation { return issuesOf(s.Resource, name) }}
}

// issuesOf returns the issues of a resource with the name of a check.
func issuesOf(r *render.Resource, check render.Check) (list []Violation) {
	for _, issue := range r.Issues {
		if issue.Check == check {
			list = append(list, Violation{issue.Pointer, issue.Message})
		}
	}
	return list
}

// Names lists the rules of all checks.
func Names() []string {
	always := report.Mapped(Always(), func(c Check) string { return c.Name })
	return append(always, report.Mapped(switched(), func(s switchable) string { return s.name })...)
}

// switchable is a check that a repository may turn off.
type switchable struct {
	name    string // a field of settings.Checks
	compile func(Facts) Check
}

func switched() []switchable {
	list := append(apis(), switchable{idleRule, func(Facts) Check {
		return Check{Info: warning(idleRule, "medium"), Violations: idleRules}
	}}, switchable{"missing-class", func(f Facts) Check {
		return Check{Info: warning("missing-class", "high"), Violations: missingClasses(f)}
	}})
	return append(list, switchedRootChecks()...)
}

// Results returns the results of checks for an object. rules are the policies with the exceptions in effect, request is
// the admission request of the object.
func Results(ctx context.Context, checks []Check, s Deployed, rules *engine.Evaluator,
	request *admission.Request) []engine.Result {
	var out []engine.Result
	s.said, s.rules, s.request = new(answer), rules, request
	for _, c := range checks {
		find := c.Violations
		if s.Resource == nil {
			find = c.Removed
		}
		if find == nil {
			continue
		}
		violations := find(ctx, s)
		if len(violations) == 0 {
			continue
		}
		covering := rules.Covering(ctx, request, Policy, c.Name)
		for _, v := range violations {
			result := engine.Result{
				Policy:   engine.PolicyRef{APIVersion: "checks.lintel.dev/v1", Kind: Kind, Name: Policy, Severity: c.Severity},
				Decision: engine.Decision{Rule: c.Name, Outcome: c.Outcome, Enforce: c.Enforce, Message: v.Message, Fields: []string{v.Pointer}},
			}
			if len(covering) > 0 {
				result.Outcome, result.Exceptions = engine.Skip, covering[:1]
			}
			out = append(out, result)
		}
	}
	return out
}

// Fixes returns the fixes for the failures of checks, by field, at the indexes of their results.
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

// Kind is used instead of a policy's kind in the results of checks.
const Kind = "Check"
