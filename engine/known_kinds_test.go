package engine

import "testing"

// Each kind that is of interest is told of once, with its versions.
func TestKnownKinds(t *testing.T) {
	want := 0
	for _, kinds := range kindsOf {
		for _, r := range kinds {
			if r != nil {
				want++
			}
		}
	}
	list := KnownKinds()
	if len(list) != want {
		t.Errorf("%d kinds, want %d", len(list), want)
	}
	uses := map[string]Use{}
	for _, k := range list {
		if len(k.Versions) == 0 || !IsRule(k.Group, k.Kind) {
			t.Errorf("%+v", k)
		}
		uses[k.Group+" "+k.Kind] = k.Use
	}
	for name, use := range map[string]Use{"kyverno.io ClusterPolicy": UseEvaluated, "policies.kyverno.io PolicyException": UseException,
		"kyverno.io CleanupPolicy": UseClusterOnly, admissionGroup + " MutatingAdmissionPolicyBinding": UseBinding} {
		if uses[name] != use {
			t.Errorf("%s is %q, want %q", name, uses[name], use)
		}
	}
}
