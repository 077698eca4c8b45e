package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/policy"
)

// role is what becomes of the documents of a kind: they are compiled to policies, put policies into force, are
// exceptions, or are evaluated in a cluster only. It has one of these.
type role struct {
	// compile returns the policy, what of it is only evaluated in a cluster, and what is wrong with it. The policy is
	// nil where nothing of it is evaluated; it does not count where a problem is an error.
	compile                func(policy.Document, *bindings) (g compiled, elsewhere, problems []policy.Problem)
	bind                   func(policy.Document, *bindings) []policy.Problem
	exception, clusterOnly bool
}

// admissionGroup is the group of the policies of Kubernetes itself.
const admissionGroup = "admissionregistration.k8s.io"

// kindsOf are the kinds of the groups that hold policies, nil for those that are of no interest. A kind of the first
// two groups that is not listed is a mistake, since a policy with a misspelled kind would be off.
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
		"ValidatingPolicy":                {compile: compileValidating},
		"NamespacedValidatingPolicy":      {compile: compileValidating},
		"MutatingPolicy":                  {compile: compileMutating},
		"NamespacedMutatingPolicy":        {compile: compileMutating},
		"PolicyException":                 {exception: true},
		"GeneratingPolicy":                {clusterOnly: true},
		"NamespacedGeneratingPolicy":      {clusterOnly: true},
		"DeletingPolicy":                  {clusterOnly: true},
		"NamespacedDeletingPolicy":        {clusterOnly: true},
		"ImageValidatingPolicy":           {clusterOnly: true},
		"NamespacedImageValidatingPolicy": {clusterOnly: true},
	},
	admissionGroup: {
		"ValidatingAdmissionPolicy":        {compile: compileValidatingAdmission},
		"ValidatingAdmissionPolicyBinding": {bind: bindValidating},
		"MutatingAdmissionPolicy":          {compile: compileMutatingAdmission},
		"MutatingAdmissionPolicyBinding":   {bind: bindMutating},
	},
}

// versionsOf are the versions whose schema is known.
var versionsOf = map[string][]string{
	"kyverno.io":          {"v1", "v2beta1", "v2alpha1", "v2"},
	"policies.kyverno.io": {"v1", "v1beta1", "v1alpha1"},
	admissionGroup:        {"v1", "v1beta1", "v1alpha1"},
}

// roleOf returns what becomes of a document, nil for nothing. The problem is set for a kind or version that looks
// like a policy and is not one.
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
	if versions := versionsOf[d.Group()]; r != nil && !slices.Contains(versions, d.Version()) {
		p := d.Problem("/apiVersion", "unknown version %q of %s: use one of %s",
			d.Version(), d.Group(), strings.Join(versions, ", "))
		return nil, &p
	}
	return r, nil
}

// bindings put policies of admissionregistration.k8s.io into force.
type bindings struct {
	validating []policy.ValidatingAdmissionPolicyBinding
	mutating   []policy.MutatingAdmissionPolicyBinding
}

func bindValidating(d policy.Document, b *bindings) []policy.Problem {
	return decodeBinding(d, &b.validating)
}
func bindMutating(d policy.Document, b *bindings) []policy.Problem {
	return decodeBinding(d, &b.mutating)
}

func decodeBinding[B any](d policy.Document, into *[]B) []policy.Problem {
	var b B
	problems := policy.Decode(d, &b)
	if !policy.HasErrors(problems) {
		*into = append(*into, b)
	}
	return problems
}
