package exceptions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/deploy"
)

// Breadth lists in words what an exception covers that it could leave out. It reads only the exception and the policies
// that the exception names, and evaluates nothing.
func Breadth(e *engine.Exception, policies *engine.Policies) []string {
	var out []string
	rules, expressions := e.Spec()
	switch {
	case rules != nil:
		out = broadRules(*rules, policies)
		list := filters(rules.Match)
		for _, f := range list {
			out = append(out, broadFilter(f, named(list))...)
		}
	case expressions != nil:
		out = broadCEL(*expressions, policies)
	}
	if e.Expires.IsZero() && e.TTL == 0 {
		out = append(out, "it has no expiry date: it counts until it is removed")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// filters returns the alternatives of a match block. Filters under "all" apply together, and are combined into one.
func filters(m policy.Match) []policy.ResourceFilter {
	if len(m.All) == 0 {
		return m.Any
	}
	var one policy.ResourceFilter
	for _, f := range m.All {
		one.Roles, one.ClusterRoles = append(one.Roles, f.Roles...), append(one.ClusterRoles, f.ClusterRoles...)
		one.Subjects = append(one.Subjects, f.Subjects...)
		in, out := f.Resources, &one.Resources
		out.Kinds, out.Namespaces = append(out.Kinds, in.Kinds...), append(out.Namespaces, in.Namespaces...)
		out.Operations = append(out.Operations, in.Operations...)
		out.Names = append(out.Names, in.Names...)
		if in.Name != "" {
			out.Names = append(out.Names, in.Name)
		}
		if in.Selector != nil {
			out.Selector = in.Selector
		}
		if in.NamespaceSelector != nil {
			out.NamespaceSelector = in.NamespaceSelector
		}
		if len(in.Annotations) > 0 {
			out.Annotations = in.Annotations
		}
	}
	return []policy.ResourceFilter{one}
}

// named lists the names without wildcards of match blocks.
func named(list []policy.ResourceFilter) (names []string) {
	for _, f := range list {
		own := append(slices.Clone(f.Resources.Names), f.Resources.Name)
		names = append(names, report.Kept(own, func(n string) bool { return n != "" && !strings.ContainsAny(n, "*?") })...)
	}
	return names
}

// madeOf reports whether a wildcard is for names that controllers generate for a named resource: its name and a dash.
// Of a long name it may be the beginning, since controllers cut long names.
func madeOf(wildcard string, kinds, named []string) bool {
	generated := len(kinds) > 0 && !slices.ContainsFunc(kinds, func(s string) bool {
		k, ok := match.ParseKind(s)
		return !ok || k.Kind != "Pod" && k.Kind != "ReplicaSet" && k.Kind != "Job"
	})
	begins := wildcard[:strings.IndexAny(wildcard, "*?")]
	base, dashed := strings.CutSuffix(begins, "-")
	return generated && dashed && slices.ContainsFunc(named, func(n string) bool {
		return n == base || len(base) > 50 && strings.HasPrefix(n, base)
	})
}

// broadFilter describes one alternative of a match block. other are the names that the alternatives list without
// wildcards.
func broadFilter(f policy.ResourceFilter, other []string) (out []string) {
	d := f.Resources
	names := d.Names
	if d.Name != "" {
		names = append(slices.Clone(names), d.Name)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return strings.ContainsAny(n, "*?") && madeOf(n, d.Kinds, other)
	})
	labeled := len(names) < len(d.Names) || d.Selector != nil || len(d.Annotations) > 0
	out = append(out, open("kind", d.Kinds, false)...)
	out = append(out, open("name", names, labeled)...)
	cluster := len(d.Kinds) > 0 && !slices.ContainsFunc(d.Kinds, func(s string) bool {
		k, ok := match.ParseKind(s)
		return !ok || !kinds.ClusterScoped(k.Group, k.Kind)
	})
	if !cluster {
		out = append(out, open("namespace", d.Namespaces, d.NamespaceSelector != nil)...)
	}
	if len(d.Operations)+len(f.Subjects)+len(f.Roles)+len(f.ClusterRoles) == 0 {
		out = append(out, "any operation by any user: the exception limits neither operations nor users")
	}
	return out
}

// open describes what a list of names and wildcards leaves open. otherwise says that another field narrows it.
func open(what string, list []string, otherwise bool) (out []string) {
	if len(list) == 0 && !otherwise {
		return []string{"every " + what}
	}
	for _, s := range list {
		switch {
		case strings.Trim(s, "*/") == "":
			out = append(out, "every "+what)
		case strings.ContainsAny(s, "*?"):
			out = append(out, fmt.Sprintf("every %s like %s", what, s))
		}
	}
	return out
}

func broadRules(spec policy.ExceptionSpec, policies *engine.Policies) (out []string) {
	for _, ref := range spec.Exceptions {
		for _, name := range ref.RuleNames {
			switch {
			case strings.Trim(name, "*") == "":
				out = append(out, fmt.Sprintf("all rules of %s, including those added later", ref.PolicyName))
			case strings.ContainsAny(name, "*?"):
				out = append(out, fmt.Sprintf("every rule of %s like %s", ref.PolicyName, name))
			}
		}
		if len(spec.PodSecurity) == 0 && takesControls(ref, policies) {
			out = append(out, fmt.Sprintf(
				"every control of the Pod Security Standard in %s, although spec.podSecurity can name one", ref.PolicyName))
		}
	}
	for _, c := range spec.PodSecurity {
		if slices.ContainsFunc(c.Images, func(s string) bool { return strings.Trim(s, "*") == "" }) {
			out = append(out, "every image for the control "+c.ControlName)
		}
	}
	return out
}

// takesControls reports whether one of the rules that an exception names checks a Pod Security Standard.
func takesControls(ref policy.ExceptionRef, policies *engine.Policies) bool {
	return slices.ContainsFunc(policies.List(), func(info engine.PolicyInfo) bool {
		return info.FullName() == ref.PolicyName && slices.ContainsFunc(info.Rules, func(rule string) bool {
			return match.AnyWildcard(ref.RuleNames, rule) &&
				policies.Uses(engine.RuleID{Policy: info.PolicyRef, Rule: rule}).Controls
		})
	})
}

func broadCEL(spec policy.CELExceptionSpec, policies *engine.Policies) (out []string) {
	var conditions strings.Builder
	for _, c := range spec.MatchConditions {
		conditions.WriteString(c.Expression + "\n")
	}
	text := conditions.String()
	switch {
	case len(spec.MatchConditions) == 0:
		out = append(out, "every resource that the policy matches: spec.matchConditions is empty")
	default:
		if !strings.Contains(text, ".name") {
			out = append(out, "every name")
		}
		if !strings.Contains(text, "namespace") {
			out = append(out, "every namespace")
		}
	}
	for _, image := range spec.Images {
		if strings.ContainsAny(image, "*?") {
			out = append(out, "every image like "+image)
		}
	}
	if len(spec.Images) > 0 || spec.HasValues() {
		return out
	}
	for _, ref := range spec.PolicyRefs {
		switch uses := usesOf(ref, policies); {
		case uses.Images:
			out = append(out, fmt.Sprintf("all of %s, although an exception to that policy can name single images "+
				"(spec.images)", ref.Name))
		case len(uses.Values) > 0:
			out = append(out, fmt.Sprintf("all of %s, although an exception to that policy can name single values "+
				"(spec.allowedValues)", ref.Name))
		}
	}
	return out
}

// usesOf returns which fields of exceptions the policy named by an exception of policies.kyverno.io reads.
func usesOf(ref policy.CELPolicyRef, policies *engine.Policies) engine.Uses {
	for _, info := range policies.List() {
		if info.Kind == ref.Kind && info.Name == ref.Name {
			return policies.Uses(engine.RuleID{Policy: info.PolicyRef})
		}
	}
	return engine.Uses{}
}

const (
	// beyondRoots and beyondObjects limit what is evaluated besides the roots that the change affects.
	beyondRoots   = 50
	beyondObjects = 5000
	// beyondNames limits how many resources are named.
	beyondNames = 10
)

// Beyond finds what the proposed exceptions cover besides the findings of the change. It evaluates the objects of the
// affected roots, and of as many other roots as the limits allow, with and without the exceptions. It fails only if the
// context ends.
func Beyond(ctx context.Context, in Context, findings []report.Finding) (map[*engine.Exception]*report.Beyond, error) {
	if len(in.Decision.Proposed) == 0 {
		return nil, nil
	}
	merged := in.Decision.merged(in.Decision.Effective)
	without := in.Policies.Bind(merged, in.Declared)
	with := in.Policies.Bind(slices.Concat(merged, in.Decision.Proposed), in.Declared)
	resources, roots, all := in.Declared.Sample(ctx, beyondRoots, beyondObjects)
	coverages := map[*engine.Exception]*coverage{}
	for _, e := range in.Decision.Proposed {
		c := &coverage{known: map[report.Resource]bool{}, fails: map[report.Resource]bool{}}
		for _, f := range findings {
			c.known[f.Resource] = c.known[f.Resource] || covers(e, f)
		}
		coverages[e] = c
	}
	type answer struct{ with, without []engine.Result }
	answers := make([]answer, len(resources))
	deploy.Each(len(resources), func(i int) {
		created := &diff.Pair{Operation: admission.Create, New: resources[i]}
		results := in.Reviewer.Ask(ctx, with, created)
		if slices.ContainsFunc(results,
			func(res engine.Result) bool { return slices.ContainsFunc(res.Exceptions, in.Decision.IsProposed) }) {
			answers[i] = answer{results, in.Reviewer.Ask(ctx, without, created)}
		}
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the check was stopped while it evaluated exceptions: %w", context.Cause(ctx))
	}
	for i, a := range answers {
		resource := review.Named(resources[i].Object)
		for _, res := range a.with {
			fails := slices.ContainsFunc(a.without, func(other engine.Result) bool {
				return res.ID() == other.ID() && review.Violated(other)
			})
			for _, e := range res.Exceptions {
				if c := coverages[e]; c != nil {
					c.add(resource, fails)
				}
			}
		}
	}
	beyond := map[*engine.Exception]*report.Beyond{}
	for e, c := range coverages {
		beyond[e] = &report.Beyond{Resources: len(resources), Roots: roots, OfRoots: all}
		c.into(beyond[e])
	}
	return beyond, nil
}

// coverage counts the resources that one exception covers.
type coverage struct {
	known map[report.Resource]bool // true: a finding of the change is about it
	fails map[report.Resource]bool // by resource that is not known; false: it complies without the exception
	order []report.Resource
}

func (t *coverage) add(resource report.Resource, fails bool) {
	if t.known[resource] {
		return
	}
	before, seen := t.fails[resource]
	if !seen {
		t.order = append(t.order, resource)
	}
	t.fails[resource] = before || fails
}

func (t *coverage) into(b *report.Beyond) {
	for _, resource := range t.order {
		switch {
		case !t.fails[resource]:
			b.Complying++
		case b.Fails < beyondNames:
			b.Failing = append(b.Failing, resource)
			fallthrough
		default:
			b.Fails++
		}
	}
}
