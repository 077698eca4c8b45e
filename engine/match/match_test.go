package match

import (
	"errors"
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

func TestParseKind(t *testing.T) {
	tests := []struct {
		in   string
		want Kind
		ok   bool
	}{
		{"Pod", Kind{"*", "*", "Pod", ""}, true},
		{"v1/Pod", Kind{"*", "v1", "Pod", ""}, true},
		{"*/Pod", Kind{"*", "*", "Pod", ""}, true},
		{"apps/v1/Deployment", Kind{"apps", "v1", "Deployment", ""}, true},
		{"/v1/Namespace", Kind{"", "v1", "Namespace", ""}, true},
		{"apps/*/Deployment", Kind{"apps", "*", "Deployment", ""}, true},
		{"Deployment/scale", Kind{"*", "*", "Deployment", "scale"}, true},
		{"Deployment.scale", Kind{"*", "*", "Deployment", "scale"}, true},
		{"v1/Pod/exec", Kind{"*", "v1", "Pod", "exec"}, true},
		{"v1/Pod.exec", Kind{"*", "v1", "Pod", "exec"}, true},
		{"apps/v1/Deployment/scale", Kind{"apps", "v1", "Deployment", "scale"}, true},
		{"*", Kind{"*", "*", "*", ""}, true},
		{"*/*", Kind{"*", "*", "*", "*"}, true},
		{"*/exec", Kind{"*", "*", "*", "exec"}, true},
		{"networking.istio.io/v1beta1/Gateway", Kind{"networking.istio.io", "v1beta1", "Gateway", ""}, true},
		{"", Kind{}, false},
		{"a/b/c/d/e", Kind{}, false},
	}
	for _, tt := range tests {
		got, ok := ParseKind(tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: got %+v %v", tt.in, got, ok)
		}
		if again, _ := ParseKind(got.String()); ok && again != got {
			t.Errorf("%q: written as %q it is %+v", tt.in, got, again)
		}
	}
}

func pod(namespace string) admission.Object {
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
		"name": "web-1", "namespace": namespace,
		"labels":      map[string]any{"app": "web", "example.com/tier": "front"},
		"annotations": map[string]any{"owner": "team-a"},
	}}
}

func resources(r policy.Resources) policy.Match {
	return policy.Match{Any: []policy.ResourceFilter{{Resources: r}}}
}

func user(u policy.UserInfo) policy.Match {
	return policy.Match{Any: []policy.ResourceFilter{{UserInfo: u}}}
}

func compile(t *testing.T, m policy.Match) *Block {
	t.Helper()
	b, problems := Compile(m)
	if len(problems) > 0 && !problems[0].Warning {
		t.Fatal(problems[0])
	}
	return b
}

var jane = admission.Request{
	Operation: admission.Create, Object: pod("team"),
	UserInfo:     admission.UserInfo{Username: "jane", Groups: []string{"devs", "system:authenticated"}},
	Roles:        []string{"team:deployer"},
	ClusterRoles: []string{"view", "custom-controller:edit"},
}

var authenticated = policy.UserInfo{Subjects: []policy.Subject{{Kind: "Group", Name: "system:authenticated"}}}

func TestMatches(t *testing.T) {
	robot := jane
	robot.UserInfo = admission.UserInfo{Username: "system:serviceaccount:ci:deployer"}
	nobody := admission.Request{Operation: admission.Create, Object: pod("team")}
	somebody := nobody
	somebody.UserInfo = admission.UserInfo{}.Completed()
	namespace := admission.Request{Operation: admission.Create, Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "team", "labels": map[string]any{"env": "prod"}}}}
	deletion := admission.Request{Operation: admission.Delete, OldObject: pod("team")}
	ephemeral := admission.Request{Operation: admission.Update, Object: pod("team"), SubResource: "ephemeralcontainers"}
	scale := admission.Request{Operation: admission.Update, Object: pod("team"), SubResource: "scale"}
	generated := admission.Request{Operation: admission.Create, Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"generateName": "job-"}}}
	selector := func(labels map[string]string, e ...policy.SelectorRequirement) policy.Resources {
		return policy.Resources{Selector: &policy.Selector{MatchLabels: labels, MatchExpressions: e}}
	}
	tests := []struct {
		name    string
		request admission.Request
		match   policy.Match
		want    bool
	}{
		{"kind", jane, resources(policy.Resources{Kinds: []string{"Service", "Pod"}}), true},
		{"other kind", jane, resources(policy.Resources{Kinds: []string{"Service"}}), false},
		{"kind with wildcard", jane, resources(policy.Resources{Kinds: []string{"P*"}}), true},
		{"other version", jane, resources(policy.Resources{Kinds: []string{"v2/Pod"}}), false},
		{"subresource asked for", jane, resources(policy.Resources{Kinds: []string{"Pod/scale"}}), false},
		{"subresource", scale, resources(policy.Resources{Kinds: []string{"Pod/scale"}}), true},
		{"subresource not asked for", scale, resources(policy.Resources{Kinds: []string{"Pod"}}), false},
		{"ephemeral containers are of the pod", ephemeral, resources(policy.Resources{Kinds: []string{"Pod"}}), true},
		{"everything", scale, resources(policy.Resources{Kinds: []string{"*/*"}}), true},
		{"name", jane, resources(policy.Resources{Name: "web-*"}), true},
		{"names", jane, resources(policy.Resources{Names: []string{"db-*", "web-?"}}), true},
		{"other names", jane, resources(policy.Resources{Names: []string{"db-*"}}), false},
		{"generated name", generated, resources(policy.Resources{Name: "job-*"}), true},
		{"namespace", jane, resources(policy.Resources{Namespaces: []string{"te*"}}), true},
		{"other namespace", jane, resources(policy.Resources{Namespaces: []string{"prod"}}), false},
		{"a Namespace by its own name", namespace, resources(policy.Resources{Namespaces: []string{"team"}}), true},
		{"annotation", jane, resources(policy.Resources{Annotations: map[string]string{"own*": "team-?"}}), true},
		{"other annotation", jane, resources(policy.Resources{Annotations: map[string]string{"owner": "team-b"}}), false},
		{"label", jane, resources(selector(map[string]string{"app": "web"})), true},
		{"label with wildcards", jane, resources(selector(map[string]string{"example.com/*": "fr?nt"})), true},
		{"wildcards must meet in one label", jane, resources(selector(map[string]string{"example.com/*": "web"})), false},
		{"label expressions", jane, resources(
			selector(nil, policy.SelectorRequirement{Key: "app", Operator: "In", Values: []string{"web"}},
				policy.SelectorRequirement{Key: "x", Operator: "DoesNotExist"},
				policy.SelectorRequirement{Key: "x", Operator: "NotIn", Values: []string{"y"}})), true},
		{"label expression not met", jane, resources(selector(nil, policy.SelectorRequirement{Key: "x", Operator: "Exists"})),
			false},
		{"operation", jane, resources(policy.Resources{Operations: []string{"UPDATE"}}), false},
		{"deletion by the old object", deletion,
			resources(policy.Resources{Kinds: []string{"Pod"}, Operations: []string{"DELETE"}}), true},
		{"all parts must match", jane, resources(policy.Resources{Kinds: []string{"Pod"}, Name: "db"}), false},
		{"all", jane, policy.Match{All: []policy.ResourceFilter{{Resources: policy.Resources{Kinds: []string{"Pod"}}},
			{Resources: policy.Resources{Name: "db"}}}}, false},
		{"direct", jane, policy.Match{
			ResourceFilter: policy.ResourceFilter{Resources: policy.Resources{Kinds: []string{"Pod"}}}}, true},
		{"nothing", jane, policy.Match{}, false},
		{"user", jane, user(policy.UserInfo{Subjects: []policy.Subject{{Kind: "User", Name: "ja*"}}}), true},
		{"group", jane, user(policy.UserInfo{Subjects: []policy.Subject{{Kind: "Group", Name: "devs"}}}), true},
		{"service account", robot, user(
			policy.UserInfo{Subjects: []policy.Subject{{Kind: "ServiceAccount", Namespace: "ci", Name: "deployer"}}}), true},
		{"no service account", jane, user(
			policy.UserInfo{Subjects: []policy.Subject{{Kind: "ServiceAccount", Namespace: "ci", Name: "jane"}}}), false},
		{"role", jane, user(policy.UserInfo{Roles: []string{"team:deployer"}}), true},
		{"cluster role", jane, user(policy.UserInfo{ClusterRoles: []string{"admin", "view"}}), true},
		{"cluster role", jane, user(policy.UserInfo{ClusterRoles: []string{"custom-controller:edit"}}), true},
		{"cluster roles have no wildcards", jane, user(policy.UserInfo{ClusterRoles: []string{"custom-controller:*"}}), false},
		{"roles have no wildcards", jane, user(policy.UserInfo{Roles: []string{"*"}}), false},
		{"all lists of the user", jane, user(policy.UserInfo{ClusterRoles: []string{"view"}, Roles: []string{"x"}}), false},
		{"everybody", somebody, policy.Match{All: []policy.ResourceFilter{
			{Resources: policy.Resources{Kinds: []string{"Pod"}}}, {UserInfo: authenticated}}}, true},
		{"somebody in particular", somebody, user(policy.UserInfo{Subjects: []policy.Subject{{Kind: "Group", Name: "x"}}}),
			false},
		{"somebody of whom no more is known", somebody, policy.Match{Any: []policy.ResourceFilter{{
			Resources: policy.Resources{Kinds: []string{"Pod"}}, UserInfo: policy.UserInfo{Roles: []string{"x"}}}}}, true},
		{"unknown user is not looked at", nobody, policy.Match{Any: []policy.ResourceFilter{{
			Resources: policy.Resources{Kinds: []string{"Pod"}}, UserInfo: policy.UserInfo{Roles: []string{"x"}}}}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Matches(compile(t, tt.match), nil, NewTarget(&tt.request))
			if err != nil || got != tt.want {
				t.Errorf("got %v %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestExclude(t *testing.T) {
	pods := compile(t, resources(policy.Resources{Kinds: []string{"Pod"}}))
	nobody := admission.Request{Operation: admission.Create, Object: pod("team")}
	somebody := nobody
	somebody.UserInfo = admission.UserInfo{}.Completed()
	tests := []struct {
		name    string
		request admission.Request
		exclude policy.Match
		want    bool
	}{
		{"empty excludes nothing", jane, policy.Match{}, true},
		{"empty filter excludes nothing", jane, policy.Match{Any: []policy.ResourceFilter{{}}}, true},
		{"namespace", jane, resources(policy.Resources{Namespaces: []string{"team"}}), false},
		{"other namespace", jane, resources(policy.Resources{Namespaces: []string{"x"}}), true},
		{"cluster role", jane, user(policy.UserInfo{ClusterRoles: []string{"view"}}), false},
		{"everybody", somebody, user(authenticated), false},
		{"everybody of a group of the system", somebody,
			user(policy.UserInfo{Subjects: []policy.Subject{{Kind: "Group", Name: "system:*"}}}), false},
		{"somebody of whom no more is known", somebody, user(policy.UserInfo{ClusterRoles: []string{"view"}}), true},
		{"unknown user is not excluded", nobody, user(policy.UserInfo{ClusterRoles: []string{"view"}}), true},
		{"all of them", jane, policy.Match{All: []policy.ResourceFilter{{Resources: policy.Resources{Name: "web-1"}},
			{Resources: policy.Resources{Name: "x"}}}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Matches(pods, compile(t, tt.exclude), NewTarget(&tt.request))
			if err != nil || got != tt.want {
				t.Errorf("got %v %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestNamespaceSelector(t *testing.T) {
	prod := func(key string) policy.Resources {
		return policy.Resources{NamespaceSelector: &policy.Selector{MatchLabels: map[string]string{key: "prod"}}}
	}
	declared := jane
	declared.Namespace = map[string]any{"kind": "Namespace",
		"metadata": map[string]any{"name": "team", "labels": map[string]any{"env": "prod"}}}
	byName := jane
	byName.Object = pod("prod")
	tests := []struct {
		name           string
		request        admission.Request
		match, exclude policy.Match
		want, unknown  bool
	}{
		{"declared", declared, resources(prod("env")), policy.Match{}, true, false},
		{"declared without the label", declared, resources(prod("x")), policy.Match{}, false, false},
		{"not declared", jane, resources(prod("env")), policy.Match{}, false, true},
		{"the label with the name needs no declaration", byName, resources(prod(nameLabel)), policy.Match{}, true, false},
		{"another filter decides", jane, policy.Match{Any: []policy.ResourceFilter{{Resources: prod("env")},
			{Resources: policy.Resources{Kinds: []string{"Pod"}}}}}, policy.Match{}, true, false},
		{"another part decides", jane, resources(policy.Resources{Kinds: []string{"Service"},
			NamespaceSelector: prod("env").NamespaceSelector}), policy.Match{}, false, false},
		{"exclude decides", jane, resources(prod("env")), resources(policy.Resources{Kinds: []string{"Pod"}}), false, false},
		{"exclude not known", jane, resources(policy.Resources{Kinds: []string{"Pod"}}), resources(prod("env")), false, true},
		{"no match, exclude not known", jane, resources(policy.Resources{Kinds: []string{"Service"}}), resources(prod("env")),
			false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Matches(compile(t, tt.match), compile(t, tt.exclude), NewTarget(&tt.request))
			var needs *admission.NeedsClusterError
			if got != tt.want || errors.As(err, &needs) != tt.unknown {
				t.Errorf("got %v %v, want %v, unknown %v", got, err, tt.want, tt.unknown)
			}
		})
	}
}

func TestCompileReports(t *testing.T) {
	_, problems := Compile(policy.Match{
		Any: []policy.ResourceFilter{{
			Resources: policy.Resources{
				Kinds:    []string{"a/b/c/d/e"},
				Selector: &policy.Selector{MatchExpressions: []policy.SelectorRequirement{{Key: "a", Operator: "in"}}},
			},
			UserInfo: policy.UserInfo{Subjects: []policy.Subject{{Kind: "Robot", Name: "x"},
				{Kind: "ServiceAccount", Name: "x"}}, Roles: []string{"a", "b*"}},
		}},
		All: []policy.ResourceFilter{{}},
	})
	want := []string{
		"any/0/resources/kinds/0", "any/0/resources/selector/matchExpressions/0/operator",
		"any/0/roles/1", "any/0/subjects/0/kind", "any/0/subjects/1/namespace", "all",
	}
	if len(problems) != len(want) {
		t.Fatalf("got %v", problems)
	}
	for i, p := range problems {
		if p.Field != want[i] || p.Message == "" {
			t.Errorf("got %+v, want one at %s", p, want[i])
		}
	}
}

func TestKinds(t *testing.T) {
	tests := []struct {
		name  string
		match policy.Match
		want  int // -1: any
	}{
		{"any", policy.Match{Any: []policy.ResourceFilter{{Resources: policy.Resources{Kinds: []string{"Pod", "v1/Service"}}},
			{Resources: policy.Resources{Kinds: []string{"Job"}}}}}, 3},
		{"one filter without", policy.Match{Any: []policy.ResourceFilter{
			{Resources: policy.Resources{Kinds: []string{"Pod"}}}, {Resources: policy.Resources{Name: "x"}}}}, -1},
		{"wildcard", resources(policy.Resources{Kinds: []string{"Pod", "*"}}), -1},
		{"all", policy.Match{All: []policy.ResourceFilter{{Resources: policy.Resources{Name: "x"}},
			{Resources: policy.Resources{Kinds: []string{"Pod"}}}}}, 1},
	}
	for _, tt := range tests {
		got := compile(t, tt.match).Kinds()
		if tt.want < 0 && got != nil || tt.want >= 0 && len(got) != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
