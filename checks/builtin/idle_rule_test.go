package builtin

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render"
)

func TestIdleRule(t *testing.T) {
	const (
		kyverno = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: [{name: r, "
		except  = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e}\nspec: {"
		cel     = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: v}\nspec: " +
			"{matchConstraints: {"
		excludes = "/spec/rules/0/exclude: excludes everything that the rule matches"
	)
	rule := func(match, exclude string) string {
		text := kyverno + "match: {" + match + "}"
		if exclude != "" {
			text += ", exclude: {" + exclude + "}"
		}
		return text + "}]}"
	}
	resources := func(rule string) string {
		return "resourceRules: [{operations: [CREATE], apiVersions: [v1], " + rule + "}]"
	}
	apart := func(field string) string {
		return "/spec/rules/0/match/all/1/resources/" + field + ": contradicts another part of match.all: no object " +
			"matches both, so the rule matches nothing"
	}
	for _, c := range []struct{ name, object, want string }{
		{"existing kinds", rule("any: [{resources: {kinds: [Pod, v1/Deployment, apps/v1/Deployment, 'apps/*/*', example.com/v1/A]}}]", ""),
			""},
		{"a kind of another group", rule("any: [{resources: {kinds: [Pod, apps/v1/Pod]}}]", ""),
			"/spec/rules/0/match/any/0/resources/kinds/1: no version of Kubernetes has the kind Pod in the group \"apps\": " +
				"this matches nothing"},
		{"a removed kind", rule("any: [{resources: {kinds: [apps/v1alpha1/PetSet, extensions/v1beta1/Deployment]}}]", ""), ""},
		{"a part is excluded", rule("any: [{resources: {kinds: [Pod]}}]", "any: [{resources: {kinds: [Pod], namespaces: [a]}}]"),
			""},
		{"all is excluded", rule("any: [{resources: {kinds: [Pod], namespaces: [a]}}]",
			"any: [{resources: {namespaces: ['*']}}]"), excludes},
		{"all is excluded by a wildcard", rule("any: [{resources: {kinds: [Pod], namespaces: [kube-system]}}]",
			"any: [{resources: {kinds: [Pod], namespaces: ['kube-*']}}]"), excludes},
		{"one of two is excluded", rule("any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]",
			"any: [{resources: {kinds: [Pod]}}]"), ""},
		{"both of two are excluded", rule("any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]",
			"any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]"), excludes},
		{"everything that one of two required filters matches is excluded", rule("all: [{resources: {kinds: [Pod]}}, {resources: {names: [a]}}]",
			"any: [{resources: {kinds: [Pod]}}]"), excludes},
		{"the exclusion depends on the requester", rule("any: [{resources: {kinds: [Pod]}}]",
			"any: [{resources: {kinds: [Pod]}, clusterRoles: [cluster-admin]}]"), ""},
		{"the exclusion depends on labels", rule("any: [{resources: {kinds: [Pod]}}]",
			"any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]"), ""},
		{"two exclusions that must both match", rule("any: [{resources: {kinds: [Pod]}}]",
			"all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [a]}}]"), ""},
		{"the deprecated form", rule("resources: {kinds: [Pod]}", "resources: {kinds: [Pod]}"), excludes},
		{"different kinds", rule("all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]", ""), apart("kinds")},
		{"different namespaces", rule("all: [{resources: {kinds: [Pod], namespaces: [a]}}, {resources: {kinds: [v1/Pod], "+
			"namespaces: [b]}}]", ""), apart("namespaces")},
		{"overlapping namespaces", rule("all: [{resources: {kinds: [Pod], namespaces: ['a*']}}, {resources: "+
			"{namespaces: [b]}}]", ""), ""},
		{"any of two", rule("any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]", ""), ""},
		{"an exception", except + "match: {all: [{resources: {names: [a]}}, {resources: {name: b}}]}}",
			strings.ReplaceAll(apart("name"), "/spec/rules/0", "/spec")},
		{"a selector", rule("any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}, matchExpressions: [{key: a, "+
			"operator: In, values: [b, c]}, {key: d, operator: Exists}]}}}]", ""), ""},
		{"a selector that contradicts itself", rule("any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}, "+
			"matchExpressions: [{key: a, operator: DoesNotExist}]}}}]", ""), "/spec/rules/0/match/any/0/resources/selector/" +
			"matchExpressions/0: contradicts another expression of the selector for the label a: no object satisfies " +
			"both, so the selector matches nothing"},
		{"a namespace selector that contradicts itself", cel + resources("apiGroups: [''], resources: [pods]") + ", namespaceSelector: {matchExpressions: " +
			"[{key: a, operator: In, values: [x]}, {key: a, operator: NotIn, values: [x, y]}]}}}",
			"/spec/matchConstraints/namespaceSelector/matchExpressions/1: contradicts another expression of the " +
				"selector for the label a: no object satisfies both, so the selector matches nothing"},
		{"two expressions without a common value", cel + "objectSelector: {matchExpressions: [{key: a, operator: In, values: [x]}, " +
			"{key: a, operator: In, values: [y]}]}}}", "/spec/matchConstraints/objectSelector/matchExpressions/1: " +
			"contradicts another expression of the selector for the label a: no object satisfies both, so the " +
			"selector matches nothing"},
		{"resources", cel + resources("apiGroups: ['', apps], resources: [pods, deployments, pods/exec, '*']") + "}}", ""},
		{"a resource of another group", cel + resources("apiGroups: [''], resources: [pods, deployments]") + "}}",
			"/spec/matchConstraints/resourceRules/0/resources/1: no version of Kubernetes has the resource deployments in the " +
				`group "": this matches nothing`},
		{"a resource of an unknown group", cel + resources("apiGroups: [example.com], resources: [things]") + "}}", ""},
		{"a resource of any group", cel + resources("apiGroups: ['*'], resources: [things]") + "}}", ""},
		{"all resources are excluded", cel + resources("apiGroups: [''], resources: [pods]") + ", exclude" +
			strings.Replace(resources("apiGroups: ['*'], resources: ['*']"), "r", "R", 1) + "}}",
			"/spec/matchConstraints/excludeResourceRules: excludes everything that the policy matches"},
		{"some resources are excluded", cel + resources("apiGroups: [''], resources: [pods]") + ", exclude" +
			strings.Replace(resources("apiGroups: [''], resources: [pods], resourceNames: [a]"), "r", "R", 1) + "}}", ""},
		{"no policy", "apiVersion: v1\nkind: ConfigMap\nspec: {rules: [{match: {any: [{resources: {kinds: [apps/v1/Pod]}}]}}]}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(c.object), &object); err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, v := range idleRules(t.Context(), Deployed{Resource: render.NewResource(object, nil)}) {
				got = append(got, v.Pointer+": "+v.Message)
			}
			if c.want != "" {
				want = []string{c.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
