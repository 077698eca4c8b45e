package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

const termsOfRules = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: x, namespace: ns, labels: {cleanup.kyverno.io/ttl: 30d}, annotations: {why: a}}
spec:
  exceptions: [{policyName: p, ruleNames: [a, "b*"]}, {policyName: q, ruleNames: [c]}]
  match: {any: [{resources: {kinds: [Pod, Job], names: [one, two], namespaces: [n]}}, {resources: {kinds: [CronJob]}}]}
  conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: one}]}
`

const termsOfCEL = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: x}
spec:
  policyRefs: [{name: v, kind: ValidatingPolicy}, {name: w, kind: ValidatingPolicy}]
  matchConditions: [{name: only, expression: "object.metadata.name == 'a'"}]
  images: [one, two]
  expiresAt: 2030-01-01T00:00:00Z
`

// selecting returns termsOfRules with a selector, controlling with controls, and allowing termsOfCEL with values.
func selecting(text string) string {
	return strings.Replace(termsOfRules, "{kinds: [CronJob]}", "{kinds: [CronJob], selector: "+text+"}", 1)
}

func controlling(text string) string {
	return strings.Replace(termsOfRules, "  conditions:", "  podSecurity: ["+text+"]\n  conditions:", 1)
}

func allowing(text string) string {
	return strings.Replace(termsOfCEL, "images: [one, two]", "allowedValues: "+text, 1)
}

// An exception that lets through no more than before, for no longer, is within what it was; all that cannot be told
// from the texts is not.
func TestWithin(t *testing.T) {
	document := func(text string) engine.RuleDocument {
		return engine.RuleDocuments([]policy.Source{{Path: "x.yaml", Documents: yamltest.Documents(text)}})[0]
	}
	for _, c := range []struct {
		name, of, from, to string
		within, same       bool
	}{
		{"the same", termsOfRules, "", "", true, true},
		{"a comment", termsOfRules, "spec:", "# why\nspec:", true, true},
		{"an annotation", termsOfRules, "why: a", "why: b", true, true},
		{"a newer version of the API", termsOfRules, "v2\n", "v2beta1\n", true, true},
		{"another name", termsOfRules, "name: x", "name: y", false, false},
		{"another namespace", termsOfRules, "namespace: ns", "namespace: other", false, false},
		{"a rule less", termsOfRules, `[a, "b*"]`, "[a]", true, false},
		{"a rule instead of a pattern", termsOfRules, `"b*"`, "bee", true, false},
		{"a pattern below a pattern", termsOfRules, `"b*"`, `"bb*"`, true, false},
		{"a pattern above a pattern", strings.Replace(termsOfRules, "b*", "bb*", 1), `"bb*"`, `"b*"`, false, false},
		{"a pattern that matches other lengths", strings.Replace(termsOfRules, "b*", "b?", 1), `"b?"`, `"b*"`, false, false},
		{"a rule more", termsOfRules, "[c]", "[c, d]", false, false},
		{"any rule", termsOfRules, "[c]", `["*"]`, false, false},
		{"a policy less", termsOfRules, ", {policyName: q, ruleNames: [c]}", "", true, false},
		{"another policy", termsOfRules, "policyName: q", "policyName: r", false, false},
		{"a rule of the other policy", termsOfRules, "[c]", "[a]", false, false},
		{"a name less", termsOfRules, "[one, two]", "[two]", true, false},
		{"a name more", termsOfRules, "[one, two]", "[one, two, three]", false, false},
		{"no names: all", termsOfRules, ", names: [one, two]", "", false, false},
		{"empty names: all", termsOfRules, "[one, two]", "[]", false, false},
		{"names like", termsOfRules, "[one, two]", `["*"]`, false, false},
		{"a name that a pattern matches", strings.Replace(termsOfRules, "one, two", `"web-*"`, 1), `"web-*"`, "web-a", true, false},
		{"a name that it does not match", strings.Replace(termsOfRules, "one, two", `"web-*"`, 1), `"web-*"`, "db-a", false, false},
		{"a namespace that a pattern matches", strings.Replace(termsOfRules, "[n]", `["n*"]`, 1), `"n*"`, "n1", true, false},
		{"a pattern of namespaces below a pattern", strings.Replace(termsOfRules, "[n]", `["n*"]`, 1), `"n*"`, `"n1*"`, true, false},
		{"not in the background", termsOfRules, "spec:", "spec:\n  background: false", true, false},
		{"in the background again", strings.Replace(termsOfRules, "spec:", "spec:\n  background: false", 1), "false", "true", false, false},
		{"one more condition that has to hold", strings.Replace(termsOfRules, "any: [{key", "all: [{key", 1), "value: one}]",
			"value: one}, {key: a, operator: Equals, value: b}]", true, false},
		{"one condition less that has to hold", strings.Replace(termsOfRules, "any: [{key", "all: [{key: a, operator: Equals, value: b}, {key", 1),
			"{key: a, operator: Equals, value: b}, ", "", false, false},
		{"conditions that have to hold beside the others", termsOfRules, "value: one}]}", "value: one}], all: [{key: a, operator: Equals, value: b}]}", true, false},
		{"one more condition that is enough", termsOfRules, "value: one}]}", "value: one}, {key: a, operator: Equals, value: b}]}", false, false},
		{"one condition less that is enough may have made it void", strings.Replace(termsOfRules, "any: [{key", "any: [{key: a, operator: Equals, value: b}, {key", 1),
			"{key: a, operator: Equals, value: b}, ", "", false, false},
		{"a misspelled key of conditions is mended", strings.Replace(termsOfRules, "conditions: {any:", "conditions: {al:", 1), "{al:", "{all:", false, false},
		{"no condition that is enough: any", termsOfRules, `any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: one}]`,
			"any: []", false, false},
		{"no namespaces: all", termsOfRules, ", namespaces: [n]", "", false, false},
		{"operations, where there were none", termsOfRules, "{kinds: [CronJob]}", "{kinds: [CronJob], operations: [DELETE]}",
			true, false},
		{"a selector, where there was none", termsOfRules, "{kinds: [CronJob]}",
			"{kinds: [CronJob], selector: {matchLabels: {a: b}}}", true, false},
		{"somebody, where it was anybody", termsOfRules, "{resources: {kinds: [CronJob]}}",
			"{subjects: [{kind: User, name: u}], resources: {kinds: [CronJob]}}", true, false},
		{"an alternative less", termsOfRules, ", {resources: {kinds: [CronJob]}}", "", true, false},
		{"an alternative more", termsOfRules, "[CronJob]}}", "[CronJob]}}, {resources: {kinds: [Secret]}}", false, false},
		{"all in place of any", termsOfRules, "match: {any", "match: {all", true, false},
		{"any in place of all", strings.Replace(termsOfRules, "match: {any", "match: {all", 1), "match: {all", "match: {any", false, false},
		{"one more of all", strings.Replace(termsOfRules, "match: {any", "match: {all", 1), "[CronJob]}}", "[CronJob]}}, {resources: {names: [w]}}", true, false},
		{"one less of all", strings.Replace(termsOfRules, "match: {any", "match: {all", 1), ", {resources: {kinds: [CronJob]}}", "", false, false},
		{"a field, where a filter had none and took nothing", strings.Replace(termsOfRules, "{kinds: [CronJob]}", "{}", 1), "resources: {}",
			"resources: {kinds: [Pod]}", false, false},
		{"a kind of one group", termsOfRules, "[CronJob]", "[batch/v1/CronJob]", true, false},
		{"a kind of any group", strings.Replace(termsOfRules, "[CronJob]", "[batch/v1/CronJob]", 1), "batch/v1/CronJob", "v1/CronJob", false, false},
		{"a subresource", termsOfRules, "[CronJob]", "[CronJob/status]", false, false},
		{"a label more", selecting("{matchLabels: {a: b}}"), "a: b}", "a: b, c: d}", true, false},
		{"a label less", selecting("{matchLabels: {a: b, c: d}}"), "a: b, ", "", false, false},
		{"another value that it may not have", selecting("{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}"), "[b]", "[b, c]", true, false},
		{"a value less that it may not have", selecting("{matchExpressions: [{key: a, operator: NotIn, values: [b, c]}]}"), "[b, c]", "[b]", false, false},
		{"a value less that it may have", selecting("{matchExpressions: [{key: a, operator: In, values: [b, c]}]}"), "[b, c]", "[b]", true, false},
		{"a value more that it may have", selecting("{matchExpressions: [{key: a, operator: In, values: [b]}]}"), "[b]", "[b, c]", false, false},
		{"a wrong operator less", selecting("{matchLabels: {a: b}, matchExpressions: [{key: a, operator: Is}]}"), ", matchExpressions: [{key: a, operator: Is}]", "", false, false},
		{"a misspelled field less", strings.Replace(termsOfRules, "names: [one, two]", "names: [one, two], namspaces: [m]", 1), ", namspaces: [m]", "", false, false},
		{"metadata that made it void", strings.Replace(termsOfRules, "annotations: {why: a}", "annotations: [a]", 1), "annotations: [a]", "annotations: {a: b}", false, false},
		{"another condition", termsOfRules, "value: one", "value: two", false, false},
		{"no condition", termsOfRules, "  conditions:", "  # conditions:", false, false},
		{"a control, where there was none", termsOfRules, "  conditions:", "  podSecurity: [{controlName: Sysctls}]\n  conditions:", true, false},
		{"one control less", controlling("{controlName: Seccomp}, {controlName: Sysctls}"), "{controlName: Seccomp}, ", "", true, false},
		{"one control less, which made it void", controlling("{controlName: Capabilities}, {controlName: Sysctls}"), "{controlName: Capabilities}, ", "", false, false},
		{"controls in another order", controlling("{controlName: Seccomp}, {controlName: Sysctls}"), "{controlName: Seccomp}, {controlName: Sysctls}",
			"{controlName: Sysctls}, {controlName: Seccomp}", false, false},
		{"another control", controlling("{controlName: Seccomp}"), "Seccomp", "Sysctls", false, false},
		{"no controls: all", controlling("{controlName: Seccomp}"), "{controlName: Seccomp}", "", false, false},
		{"images less", controlling(`{controlName: Capabilities, images: ["*"]}`), `"*"`, `"a*"`, true, false},
		{"images more", controlling(`{controlName: Capabilities, images: ["a*"]}`), `"a*"`, `"*"`, false, false},
		{"no images: the pod", controlling(`{controlName: Seccomp, images: ["*"]}`), `, images: ["*"]`, "", false, false},
		{"a field of a control", controlling(`{controlName: Seccomp}`), "Seccomp", "Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: [a]", true, false},
		{"a control and not one field of it", controlling(`{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: [a]}`),
			", restrictedField: spec.securityContext.seccompProfile.type, values: [a]", "", false, false},
		{"any value of a field", controlling(`{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: [a]}`),
			", values: [a]", "", false, false},
		{"a shorter time", termsOfRules, "30d", "29d", true, false},
		{"a longer time", termsOfRules, "30d", "31d", false, false},
		{"a date in place of a duration", termsOfRules, "30d", "'2020-01-01'", false, false},
		{"no end", termsOfRules, "cleanup.kyverno.io/ttl: 30d", "", false, false},
		{"a policy in CEL less", termsOfCEL, ", {name: w, kind: ValidatingPolicy}", "", true, false},
		{"a policy in CEL more", termsOfCEL, "}]\n  match", "}, {name: u, kind: ValidatingPolicy}]\n  match", false, false},
		{"another kind of policy", termsOfCEL, "w, kind: Validating", "w, kind: Mutating", false, false},
		{"a condition in CEL more", termsOfCEL, "'a'\"}]", "'a'\"}, {name: b, expression: 'true'}]", true, false},
		{"a condition in CEL less", termsOfCEL, "  matchConditions:", "  # matchConditions:", false, false},
		{"another condition in CEL", termsOfCEL, "== 'a'", "!= ''", false, false},
		{"an image less", termsOfCEL, "[one, two]", "[two]", true, false},
		{"an image more", termsOfCEL, "[one, two]", "[one, two, three]", false, false},
		{"no images: the policy as a whole", termsOfCEL, "  images:", "  # images:", false, false},
		{"values besides images", termsOfCEL, "  images:", "  allowedValues: [x]\n  images:", false, false},
		{"a value less", allowing("[a, b]"), "[a, b]", "[a]", true, false},
		{"a value more", allowing("[a]"), "[a]", "[a, b]", false, false},
		{"a value less of a name", allowing("{n: [a, b]}"), "[a, b]", "[a]", true, false},
		{"a value more of a name", allowing("{n: [a]}"), "[a]", "[a, b]", false, false},
		{"a name less, which a policy may look for", allowing("{n: [a], m: [b]}"), ", m: [b]", "", false, false},
		{"no values: the policy as a whole", allowing("[a]"), "[a]", "[]", false, false},
		{"images, where it was the policy as a whole", strings.Replace(termsOfCEL, "  images:", "  # images:", 1),
			"  # images:", "  images:", true, false},
		{"an earlier end", termsOfCEL, "2030", "2029", true, false},
		{"a later end", termsOfCEL, "2030", "2031", false, false},
		{"another result in reports", termsOfCEL, "  images:", "  reportResult: pass\n  images:", true, false},
		{"a result in reports that is one", strings.Replace(termsOfCEL, "  images:", "  reportResult: no\n  images:", 1),
			"reportResult: no", "reportResult: pass", false, false},
		{"other properties", termsOfCEL, "  images:", "  properties: {ticket: '1'}\n  images:", true, false},
		{"no end in CEL", termsOfCEL, "  expiresAt:", "  # expiresAt:", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := strings.Replace(c.of, c.from, c.to, 1)
			if c.from != "" && now == c.of {
				t.Fatal("nothing differs")
			}
			d, old := document(now), document(c.of)
			if within, same := d.Within(old), d.SameTerms(old); within != c.within || same != c.same {
				t.Errorf("within %v, same %v; want %v, %v", within, same, c.within, c.same)
			}
		})
	}
}
