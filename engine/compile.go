package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/policy"
)

// use says what becomes of the documents of a kind.
type use int

const (
	ignored      use = iota
	rules            // policies of kyverno.io that hold rules
	validating       // policies.kyverno.io, written in CEL
	admissionCEL     // admissionregistration.k8s.io
	binding
	exception
	mutating          // policies.kyverno.io, mutations written in CEL
	mutatingAdmission // likewise of admissionregistration.k8s.io
	mutatingBinding
	elsewhere // evaluated in a cluster only
)

// admissionGroup is the group of the policies of Kubernetes itself.
const admissionGroup = "admissionregistration.k8s.io"

// kindsOf are the kinds of the groups that hold policies. A kind of the first two groups that is not listed
// is a mistake, since a policy with a misspelled kind would be off.
var kindsOf = map[string]map[string]use{
	"kyverno.io": {
		"ClusterPolicy": rules, "Policy": rules, "PolicyException": exception,
		"CleanupPolicy": elsewhere, "ClusterCleanupPolicy": elsewhere,
		"GlobalContextEntry": ignored, "UpdateRequest": ignored, "AdmissionReport": ignored,
		"ClusterAdmissionReport": ignored, "BackgroundScanReport": ignored, "ClusterBackgroundScanReport": ignored,
	},
	"policies.kyverno.io": {
		"ValidatingPolicy": validating, "NamespacedValidatingPolicy": validating, "PolicyException": exception,
		"MutatingPolicy": mutating, "NamespacedMutatingPolicy": mutating,
		"GeneratingPolicy": elsewhere, "NamespacedGeneratingPolicy": elsewhere,
		"DeletingPolicy": elsewhere, "NamespacedDeletingPolicy": elsewhere,
		"ImageValidatingPolicy": elsewhere, "NamespacedImageValidatingPolicy": elsewhere,
	},
	admissionGroup: {
		"ValidatingAdmissionPolicy": admissionCEL, "ValidatingAdmissionPolicyBinding": binding,
		"MutatingAdmissionPolicy": mutatingAdmission, "MutatingAdmissionPolicyBinding": mutatingBinding,
	},
}

// versionsOf are the versions whose schema is known.
var versionsOf = map[string][]string{
	"kyverno.io":          {"v1", "v2beta1", "v2alpha1", "v2"},
	"policies.kyverno.io": {"v1", "v1beta1", "v1alpha1"},
	admissionGroup:        {"v1", "v1beta1", "v1alpha1"},
}

// classify says what a document is. The problem is set for a kind or version that looks like a policy and is
// none.
func classify(d policy.Document) (use, *policy.Problem) {
	known, ok := kindsOf[d.Group()]
	if !ok {
		return ignored, nil
	}
	u, ok := known[d.Kind]
	if !ok {
		if d.Group() == admissionGroup {
			return ignored, nil
		}
		var names []string
		for k := range known {
			names = append(names, k)
		}
		message := fmt.Sprintf("unknown kind %q of %s", d.Kind, d.Group())
		if near := policy.Nearest(d.Kind, names); near != "" {
			message += fmt.Sprintf(": did you mean %q?", near)
		} else {
			message += ": a policy of this kind is never evaluated"
		}
		p := d.Problem("/kind", "%s", message)
		return ignored, &p
	}
	if u != ignored && !slices.Contains(versionsOf[d.Group()], d.Version()) {
		p := d.Problem("/apiVersion", "unknown version %q of %s: use one of %s", d.Version(), d.Group(), strings.Join(versionsOf[d.Group()], ", "))
		return ignored, &p
	}
	return u, nil
}

func compilePolicies(sources []policy.Source, o Options) (*Policies, []policy.Problem) {
	out := &Policies{options: o, byRef: map[PolicyRef]*program{}}
	var problems []policy.Problem
	var bound bindings
	type item struct {
		doc policy.Document
		use use
	}
	var items []item
	for _, s := range sources {
		docs, bad := policy.Documents(s)
		problems = append(problems, bad...)
		for _, d := range docs {
			u, bad := classify(d)
			if bad != nil {
				problems = append(problems, *bad)
			}
			switch u {
			case elsewhere:
				problems = append(problems, outdated(d)...)
				out.unsupported = append(out.unsupported, d.Warning("/kind", "%s %s is not evaluated before merge", d.Kind, d.Name))
			case binding:
				problems = append(problems, decodeBinding(d, &bound.validating)...)
			case mutatingBinding:
				problems = append(problems, decodeBinding(d, &bound.mutating)...)
			case rules, validating, admissionCEL, mutating, mutatingAdmission:
				items = append(items, item{d, u})
			}
		}
	}
	seen := map[string]policy.Document{}
	for _, it := range items {
		d := it.doc
		key := d.APIVersion + " " + d.Kind + " " + d.Namespace + " " + d.Name
		if d.Name == "" {
			problems = append(problems, d.Problem("/metadata", "the policy has no metadata.name: add one"))
		} else if first, twice := seen[key]; twice {
			problems = append(problems, d.Warning("/metadata/name", "%s %s is also written at %s:%d: both are evaluated, remove one", d.Kind, d.Name, first.Path, first.Line))
		} else {
			seen[key] = d
		}
		g, unsupported, bad := compileDocument(d, it.use, &bound)
		bad = append(bad, checkDocument(d, it.use)...)
		problems = append(problems, bad...)
		if policy.HasErrors(bad) {
			continue
		}
		out.unsupported = append(out.unsupported, unsupported...)
		if g != nil && d.Name != "" {
			out.programs = append(out.programs, g)
			out.byRef[g.ref] = g
		}
	}
	return out, sorted(problems)
}

// sorted puts problems in the order of files and lines, each once.
func sorted(problems []policy.Problem) []policy.Problem {
	slices.SortStableFunc(problems, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}

// bindings put policies of admissionregistration.k8s.io into force.
type bindings struct {
	validating []policy.ValidatingAdmissionPolicyBinding
	mutating   []policy.MutatingAdmissionPolicyBinding
}

func decodeBinding[B any](d policy.Document, into *[]B) []policy.Problem {
	var b B
	problems := policy.Decode(d, &b)
	if !policy.HasErrors(problems) {
		*into = append(*into, b)
	}
	return problems
}

func compileDocument(d policy.Document, u use, bound *bindings) (*program, []policy.Problem, []policy.Problem) {
	switch u {
	case validating:
		var v policy.ValidatingPolicy
		bad := policy.Decode(d, &v)
		if policy.HasErrors(bad) {
			return nil, nil, bad
		}
		c, more := cel.CompileValidatingPolicy(d, v)
		if c == nil && !policy.HasErrors(more) {
			return nil, more, bad // of a mode that is not for requests to a cluster
		}
		return &program{ref: referenceTo(d), cel: c}, nil, append(bad, more...)
	case admissionCEL:
		var v policy.ValidatingAdmissionPolicy
		bad := policy.Decode(d, &v)
		if policy.HasErrors(bad) {
			return nil, nil, bad
		}
		c, more := cel.CompileAdmissionPolicy(d, v, bound.validating)
		return &program{ref: referenceTo(d), cel: c}, nil, append(bad, more...)
	case mutating:
		return compileMutating(d)
	case mutatingAdmission:
		var m policy.MutatingAdmissionPolicy
		bad := policy.Decode(d, &m)
		if policy.HasErrors(bad) {
			return nil, nil, bad
		}
		c, more := cel.CompileMutatingAdmissionPolicy(d, m, bound.mutating)
		return &program{ref: referenceTo(d), mutating: c}, nil, append(bad, more...)
	}
	return compileRules(d)
}

// compileMutating compiles a MutatingPolicy; one that changes objects that exist is only evaluated in a
// cluster.
func compileMutating(d policy.Document) (*program, []policy.Problem, []policy.Problem) {
	var m policy.MutatingPolicy
	problems := policy.Decode(d, &m)
	if policy.HasErrors(problems) {
		return nil, nil, problems
	}
	c, bad := cel.CompileMutatingPolicy(d, m)
	switch {
	case policy.HasErrors(bad):
		return nil, nil, append(problems, bad...)
	case cel.ChangesOthers(m):
		return nil, []policy.Problem{d.Warning("/kind", "%s %s changes objects that exist already: it is not evaluated before merge", d.Kind, d.Name)}, append(problems, bad...)
	case c == nil:
		return nil, bad, problems // off at admission
	}
	return &program{ref: referenceTo(d), mutating: c}, nil, append(problems, bad...)
}

func referenceTo(d policy.Document) PolicyRef {
	ref := PolicyRef{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Path: d.Path, Line: d.Line}
	var head struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	_ = policy.Decode(d, &head) // what it cannot read is reported where the document is compiled
	ref.Severity, _ = head.Metadata.Annotations["policies.kyverno.io/severity"].(string)
	ref.Unscored = head.Metadata.Annotations["policies.kyverno.io/scored"] == "false"
	ref.Category, _ = head.Metadata.Annotations["policies.kyverno.io/category"].(string)
	return ref
}
