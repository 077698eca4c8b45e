package match

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/policy"
)

// An explanation never contradicts the decision: a filter that does not take a request says why, one that does says
// nothing against it. Each clause is tried alone and with each other one.
func TestExplainAgrees(t *testing.T) {
	selector := func(k, v string) *policy.Selector { return &policy.Selector{MatchLabels: map[string]string{k: v}} }
	clauses := []func(f *policy.ResourceFilter){
		func(*policy.ResourceFilter) {},
		func(f *policy.ResourceFilter) { f.Resources.Kinds = []string{"Pod"} },
		func(f *policy.ResourceFilter) { f.Resources.Kinds = []string{"Service", "apps/v1/Deployment"} },
		func(f *policy.ResourceFilter) { f.Resources.Name = "web-*" },
		func(f *policy.ResourceFilter) { f.Resources.Names = []string{"a", "b"} },
		func(f *policy.ResourceFilter) { f.Resources.Namespaces = []string{"prod", "dev"} },
		func(f *policy.ResourceFilter) { f.Resources.Operations = []string{"UPDATE"} },
		func(f *policy.ResourceFilter) { f.Resources.Annotations = map[string]string{"owner": "team-*"} },
		func(f *policy.ResourceFilter) { f.Resources.Annotations = map[string]string{"owner": "none"} },
		func(f *policy.ResourceFilter) { f.Resources.Selector = selector("app", "web") },
		func(f *policy.ResourceFilter) { f.Resources.Selector = selector("app", "other") },
		func(f *policy.ResourceFilter) { f.Resources.NamespaceSelector = selector("team", "red") },
		func(f *policy.ResourceFilter) { f.Subjects = []policy.Subject{{Kind: "Group", Name: "devs"}} },
		func(f *policy.ResourceFilter) { f.Roles = []string{"prod:admin"} },
		func(f *policy.ResourceFilter) { f.ClusterRoles = []string{"admin"} },
	}
	namespace := admission.Object{"metadata": map[string]any{"name": "prod", "labels": map[string]any{"team": "red"}}}
	devs := admission.UserInfo{Username: "jane", Groups: []string{"devs"}}
	var targets []*Target
	for _, r := range []*admission.Request{
		{Operation: admission.Create, Object: pod("prod")},
		{Operation: admission.Update, Object: pod("prod"), Place: admission.Place{Namespace: namespace}, UserInfo: devs},
		{Operation: admission.Create, Object: pod("other"), UserInfo: admission.UserInfo{Username: "joe"}},
		{Operation: admission.Create, Object: pod("other"), ClusterRoles: []string{"admin"}, Roles: []string{"prod:admin"}},
		{Operation: admission.Create, Object: admission.Object{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": "prod"}}},
		{Operation: admission.Create, Object: admission.Object{"apiVersion": "example.com/v1", "kind": "Custom",
			"metadata": map[string]any{"name": "x"}}},
	} {
		targets = append(targets, NewTarget(r))
	}
	for i, one := range clauses {
		for j, other := range clauses {
			var f policy.ResourceFilter
			one(&f)
			other(&f)
			block := compile(t, policy.Match{Any: []policy.ResourceFilter{f}})
			for k, target := range targets {
				for _, as := range []role{asMatch, asExclude, asException} {
					yes, needs := block.any[0].eval(target, as, nil)
					step := block.explain(target, as, explain.Match)[0]
					if step.Holds != yes || (step.Err != nil) != (needs != nil) {
						t.Errorf("clauses %d and %d, target %d, role %d: %+v for %v, %v", i, j, k, as, step, yes, needs)
					}
					if !step.Holds && step.Words == "" {
						t.Errorf("clauses %d and %d, target %d, role %d: no reason", i, j, k, as)
					}
				}
			}
		}
	}
}

func TestExplainWords(t *testing.T) {
	target := NewTarget(&admission.Request{Operation: admission.Create, Object: pod("prod"),
		UserInfo: admission.UserInfo{Username: "jane"}})
	for _, c := range []struct {
		match, exclude policy.Match
		want           string // of all steps
	}{
		{match: resources(policy.Resources{Kinds: []string{"Deployment"}}), want: "match : kind v1/Pod is not Deployment"},
		{match: resources(policy.Resources{Kinds: []string{"Service", "v1/Secret"}, Names: []string{"a"}}),
			want: "match : kind v1/Pod is not one of Service, v1/Secret; name web-1 is not a"},
		{match: resources(policy.Resources{Kinds: []string{"Pod"}, Operations: []string{"DELETE"}}),
			want: "match : operation CREATE is not DELETE"},
		{match: resources(policy.Resources{Kinds: []string{"Pod"}, Namespaces: []string{"dev", "test-*"}}),
			want: "match : namespace prod is not one of dev, test-*"},
		{match: user(policy.UserInfo{Subjects: []policy.Subject{{Kind: "ServiceAccount", Namespace: "ci", Name: "bot"}}}),
			want: "match : user jane is not ServiceAccount ci/bot"},
		{match: resources(policy.Resources{Kinds: []string{"Pod"}}),
			exclude: resources(policy.Resources{Selector: &policy.Selector{MatchLabels: map[string]string{"app": "web"}}}),
			want:    "match : yes kind Pod | exclude : yes labels app=web"},
		{match: policy.Match{Any: []policy.ResourceFilter{{Resources: policy.Resources{Kinds: []string{"Job"}}},
			{Resources: policy.Resources{Kinds: []string{"Pod"}}}}},
			want: "match /any/0: kind v1/Pod is not Job | match /any/1: yes kind Pod"},
		{match: policy.Match{All: []policy.ResourceFilter{{Resources: policy.Resources{Kinds: []string{"Pod"}}}}},
			want: "match /all/0: yes kind Pod"},
	} {
		var got []string
		for _, s := range Explain(compile(t, c.match), compile(t, c.exclude), target) {
			text := string(s.Part) + " " + s.At + ": "
			if s.Holds {
				text += "yes "
			}
			got = append(got, text+s.Words)
		}
		if strings.Join(got, " | ") != c.want {
			t.Errorf("got %s\nwant %s", strings.Join(got, " | "), c.want)
		}
	}
}
