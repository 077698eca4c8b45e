package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/policy"
)

// role is how the documents of a kind are used: they are compiled to policies, they are bindings, they are exceptions,
// or they are evaluated only in a cluster. Exactly one field is set.
type role struct {
	// compile returns the policy, the parts of it that are evaluated only in a cluster, and its problems. The policy is
	// nil if nothing of it is evaluated here. It must not be used if one of the problems is an error.
	compile                func(policy.Document, *bindings) (g compiled, elsewhere, problems []policy.Problem)
	bind                   func(policy.Document, *bindings) []policy.Problem
	exception, clusterOnly bool
}

// admissionGroup is the group of the policies of Kubernetes itself.
const admissionGroup = "admissionregistration.k8s.io"

// kindsOf are the kinds of each group that has policies; nil means that a kind is ignored. In the first two groups a
// kind that is not listed is an error, since a policy with a misspelled kind would have no effect.
var kindsOf = map[string]map[string]*role{
	"kyverno.io": {
		"ClusterPolicy":      {compile: compileRules},
		"Policy":             {compile: compileRules},
		"PolicyException":    {exception: true},
		"CleanupPolicy":      {clusterOnly: true},
		"GlobalContextEntry": nil, "UpdateRequest": nil, "AdmissionReport": nil, "ClusterAdmissionReport": nil,
		"BackgroundScanReport": nil, "ClusterBackgroundScanReport": nil,
		"ClusterCleanupPolicy": {clusterOnly: true},
	},
	"policies.kyverno.io": {
		"ValidatingPolicy":                {compile: inCEL(validates, compileValidating)},
		"NamespacedValidatingPolicy":      {compile: inCEL(validates, compileValidating)},
		"MutatingPolicy":                  {compile: inCEL(mutates, compileMutating)},
		"NamespacedMutatingPolicy":        {compile: inCEL(mutates, compileMutating)},
		"PolicyException":                 {exception: true},
		"GeneratingPolicy":                {clusterOnly: true},
		"NamespacedGeneratingPolicy":      {clusterOnly: true},
		"DeletingPolicy":                  {clusterOnly: true},
		"NamespacedDeletingPolicy":        {clusterOnly: true},
		"ImageValidatingPolicy":           {clusterOnly: true},
		"NamespacedImageValidatingPolicy": {clusterOnly: true},
	},
	admissionGroup: {
		"ValidatingAdmissionPolicy":        {compile: inCEL(validates, compileValidatingAdmission)},
		"ValidatingAdmissionPolicyBinding": {bind: func(d policy.Document, b *bindings) []policy.Problem { return decodeBinding(d, &b.validating) }},
		"MutatingAdmissionPolicy":          {compile: inCEL(mutatesFirst, compileMutatingAdmission)},
		"MutatingAdmissionPolicyBinding":   {bind: func(d policy.Document, b *bindings) []policy.Problem { return decodeBinding(d, &b.mutating) }},
	},
}

// versionsOf lists the versions of a group in which a cluster may have the kind of a role.
func versionsOf(group string, r *role) []string {
	switch {
	case group != "kyverno.io":
		return []string{"v1", "v1beta1", "v1alpha1"}
	case r != nil && r.compile != nil:
		return []string{"v1", "v2beta1"}
	}
	return []string{"v2", "v2beta1", "v2alpha1"}
}

// roleOf returns the role of a document, nil for none. It returns a problem if the kind or version looks like that of a
// policy but is none.
func roleOf(d policy.Document) (*role, *policy.Problem) {
	known, ok := kindsOf[d.Group()]
	if !ok {
		return nil, nil
	}
	r, ok := known[d.Kind]
	if !ok {
		if d.Group() == admissionGroup {
			return nil, nil
		}
		message := fmt.Sprintf("unknown kind %q of %s", d.Kind, d.Group())
		if near := policy.Nearest(d.Kind, slices.Collect(maps.Keys(known))); near != "" {
			message += fmt.Sprintf(": did you mean %q?", near)
		} else {
			message += ": a policy of this kind is never evaluated"
		}
		p := d.Problem("/kind", "%s", message)
		return nil, &p
	}
	versions := versionsOf(d.Group(), r)
	if r != nil && !slices.Contains(versions, d.Version()) {
		p := d.Problem("/apiVersion", "unknown version %q of %s: use one of %s",
			d.Version(), d.Group(), strings.Join(versions, ", "))
		return nil, &p
	}
	return r, nil
}

// bindings are the bindings of admissionregistration.k8s.io, without which its policies have no effect.
type bindings struct {
	validating []policy.ValidatingAdmissionPolicyBinding
	mutating   []policy.MutatingAdmissionPolicyBinding
	only       bool // see Options.Bound
}

func decodeBinding[B any](d policy.Document, into *[]B) []policy.Problem {
	var b B
	problems := policy.Decode(d, &b)
	if !policy.HasErrors(problems) {
		*into = append(*into, b)
	}
	return problems
}
