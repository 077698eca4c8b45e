package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

func TestCompileProblems(t *testing.T) {
	const head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n"
	rule := func(body string) string {
		return head + "  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n" + indent(body)
	}
	tests := []struct {
		name, data string
		want       []string // the start of each problem
	}{
		{"fine", rule("validate: {deny: {}}"), nil},
		{"unknown field", rule("validate: {mesage: x, deny: {}}"),
			[]string{`p.yaml:8:16: unknown field "mesage" in spec.rules[0].validate: did you mean "message"?`}},
		{"no name", strings.Replace(rule("validate: {deny: {}}"), "name: r\n    ", "", 1),
			[]string{"p.yaml:6:5: the rule has no name"}},
		{"no policy name", strings.Replace(rule("validate: {deny: {}}"), "{name: p}", "{}", 1),
			[]string{"p.yaml:3:1: the policy has no metadata.name"}},
		{"name twice", rule("validate: {deny: {}}") +
			"  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {deny: {}}\n",
			[]string{`p.yaml:9:5: the rule name "r" is used twice`}},
		{"no rules", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {}\n",
			[]string{"p.yaml:4:1: the policy has no rules"}},
		{"no body", rule(""), []string{"p.yaml:6:5: the rule has no body"}},
		{"two bodies", rule("validate: {deny: {}}\nmutate: {patchStrategicMerge: {a: b}}"),
			[]string{"p.yaml:8:5: the rule has several bodies (mutate, validate)"}},
		{"two validations", rule("validate: {deny: {}, pattern: {a: b}}"),
			[]string{"p.yaml:8:26: validate has several bodies (deny, pattern)"}},
		{"no validation", rule("validate: {message: m}"), []string{"p.yaml:8:5: validate has no body"}},
		{"empty match", head + "  - name: r\n    match: {}\n    validate: {deny: {}}\n",
			[]string{"p.yaml:7:5: match names nothing"}},
		{"variable in match", head + "  - name: r\n    match: {any: [{resources: {kinds: [Pod], name: '{{ " +
			"request.namespace }}'}}]}\n    validate: {deny: {}}\n",
			[]string{"p.yaml:7:46: variables are not resolved in match"}},
		{"unknown operator", rule("preconditions: {all: [{key: a, operator: Like, value: b}]}\nvalidate: {deny: {}}"),
			[]string{"p.yaml:8:36: "}},
		{"broken expression", rule("validate: {deny: {conditions: {all: [{key: '{{ request. }}', operator: Equals, value: " +
			"b}]}}}"), []string{"p.yaml:8:43: "}},
		{"broken list", rule("validate: {foreach: [{list: 'request.object.spec[', deny: {}}]}"),
			[]string{"p.yaml:8:27: not a JMESPath expression"}},
		{"braces around a list", rule("validate: {foreach: [{list: '{{ request.object.spec }}', deny: {}}]}"),
			[]string{"p.yaml:8:27: list is a JMESPath expression and takes no {{ }}"}},
		{"foreach without body", rule("validate: {foreach: [{list: request.object.spec}]}"),
			[]string{"p.yaml:8:26: the foreach has 0 bodies"}},
		{"broken anchor", rule("validate: {pattern: {spec: {'^(containers)': {image: x}}}}"), []string{"p.yaml:8:33: "}},
		{"anyPattern is no list", rule("validate: {anyPattern: {spec: x}}"), []string{"p.yaml:8:16: anyPattern is a list"}},
		{"anyPattern is empty", rule("validate: {anyPattern: []}"), []string{"p.yaml:8:16: anyPattern is an empty list, which " +
			"Kyverno cannot evaluate: add the patterns of which one has to match"}},
		{"anyPattern of a foreach is empty", rule("validate: {foreach: [{list: request.object.spec, anyPattern: []}]}"),
			[]string{"p.yaml:8:54: anyPattern is an empty list"}},
		{"failure action", rule("validate: {failureAction: Block, deny: {}}"),
			[]string{`p.yaml:8:31: unknown value "Block" of spec.rules[0].validate.failureAction`}},
		{"context without source", rule("context: [{name: x}]\nvalidate: {deny: {}}"),
			[]string{`p.yaml:8:15: the context entry "x" has 0 sources`}},
		{"level of pod security", rule("validate: {podSecurity: {level: strict}}"), []string{"p.yaml:8:30: level: "}},
		{"several at once", head + "  - match: {any: [{resources: {kinds: [a/b/c/d/e]}}]}\n" +
			"    preconditions: {all: [{key: a, operator: Is, value: b}]}\n    validate: {failureAction: x, deny: {}}\n",
			[]string{"p.yaml:6:5: the rule has no name", "p.yaml:6:40: \"a/b/c/d/e\" is not a kind", "p.yaml:7:36: ",
				"p.yaml:8:31: unknown value"}},
		{"misspelled kind", strings.Replace(rule("validate: {deny: {}}"), "ClusterPolicy", "ClusterPolcy", 1),
			[]string{`p.yaml:2:1: unknown kind "ClusterPolcy" of kyverno.io: did you mean "ClusterPolicy"?`}},
		{"unknown version", strings.Replace(rule("validate: {deny: {}}"), "kyverno.io/v1", "kyverno.io/v9", 1),
			[]string{`p.yaml:1:1: unknown version "v9" of kyverno.io`}},
		{"deprecated place", strings.Replace(rule("validate: {deny: {}}"), "spec:\n",
			"spec:\n  validationFailureAction: enforce\n", 1),
			[]string{"p.yaml:5:3: warning: spec.validationFailureAction is deprecated"}},
		{"assert", rule("validate: {assert: {object: {a: b}}}"),
			[]string{"p.yaml:8:16: warning: ClusterPolicy p: rule r: validate.assert has no effect since Kyverno 1.19"}},
		{"objects of other kinds", "apiVersion: v1\nkind: Pod\nfoo: bar\n---\napiVersion: x.io/v1\nkind: ClusterPolcy\n",
			nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(tt.data)}},
				engine.Options{})
			if len(problems) != len(tt.want) {
				t.Fatalf("got %q, want %q", problems, tt.want)
			}
			for i, problem := range problems {
				if !strings.HasPrefix(problem.String(), tt.want[i]) {
					t.Errorf("got %s, want %s", problem, tt.want[i])
				}
			}
			if policy.HasErrors(problems) && len(p.List()) > 0 {
				t.Error("a policy with a problem is in use")
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	const head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n"
	const pods = "    match: {any: [{resources: {kinds: [Pod]}}]}\n"
	data := head + "  - name: v\n" + pods + "    validate: {deny: {}}\n" +
		"  - name: g\n" + pods + "    generate: {kind: ConfigMap}\n" +
		"  - name: i\n" + pods + "    verifyImages: [{imageReferences: ['*']}]\n" +
		"  - name: m\n" + pods + "    mutate: {targets: [{kind: Pod}], patchStrategicMerge: {a: b}}\n" +
		"---\napiVersion: kyverno.io/v2\nkind: ClusterCleanupPolicy\nmetadata: {name: c}\n"
	p, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(data)}},
		engine.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []int
	for _, u := range p.Unsupported() {
		if !u.Warning || !strings.Contains(u.Message, "not evaluated before merge") {
			t.Errorf("got %v", u)
		}
		got = append(got, u.Line)
	}
	slices.Sort(got)
	if want := []int{11, 14, 17, 20}; !slices.Equal(got, want) {
		t.Errorf("got lines %v, want %v", got, want)
	}
	if l := p.List(); len(l) != 1 || !slices.Equal(l[0].Rules, []string{"v"}) {
		t.Errorf("got %+v", l)
	}
}

func TestAutogenIsEvaluated(t *testing.T) {
	data := strings.Replace(ruleOf("validate: {message: m, pattern: {spec: {containers: [{image: 'x/*'}]}}}"),
		"  annotations: {pod-policies.kyverno.io/autogen-controllers: none}\n", "", 1)
	p := mustCompile(t, data)
	if got := p.List()[0].Rules; !slices.Equal(got, []string{"r", "autogen-r", "autogen-cronjob-r"}) {
		t.Errorf("got %v", got)
	}
	cron := object(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c, namespace: n1}\n"+
		"spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: nginx}]}}}}}")
	results := p.Bind(nil, nil).Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
		Object: cron})
	if len(results) != 1 || results[0].Rule != "autogen-cronjob-r" ||
		results[0].Fields[0] != "/spec/jobTemplate/spec/template/spec/containers/0/image" ||
		results[0].Message != "validation error: m. rule autogen-cronjob-r failed at path "+
			"/spec/jobTemplate/spec/template/spec/containers/0/image/" {
		t.Errorf("got %+v", results)
	}
}

func TestExceptions(t *testing.T) {
	const match = "match: {any: [{resources: {kinds: [Pod], names: [web]}}]}"
	x := func(name, spec string) string {
		return "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: " + name + ", namespace: ns}\nspec: {" +
			spec + "}\n---\n"
	}
	refs := func(policy, rules string) string {
		return "exceptions: [{policyName: " + policy + ", ruleNames: [" + rules + "]}], "
	}
	const deny = "validate: {message: m, deny: {}}"
	const security = "validate: {podSecurity: {level: baseline, version: latest}}"
	tests := []struct {
		name, body, data string
		want             engine.Outcome
		by               []string
		combined         bool
	}{
		{"covers", deny, x("a", refs("p", "r")+match), engine.Skip, []string{"a"}, false},
		{"rule with wildcard", deny, x("a", refs("p", `"*"`)+match), engine.Skip, []string{"a"}, false},
		{"two", deny, x("a", refs("p", "r")+match) + x("b", refs("p", "r")+match), engine.Skip, []string{"a", "b"}, false},
		{"another rule", deny, x("a", refs("p", "other")+match), engine.Fail, nil, false},
		{"another policy", deny, x("a", refs("q", "r")+match), engine.Fail, nil, false},
		{"policy of a namespace", deny, x("a", refs("ns/p", "r")+match), engine.Fail, nil, false},
		{"another object", deny, x("a", refs("p", "r")+"match: {any: [{resources: {kinds: [Pod], names: [db]}}]}"),
			engine.Fail, nil, false},
		{"conditions met", deny, x("a", refs("p", "r")+match+", conditions: {all: [{key: '{{ "+
			"request.object.metadata.labels.app }}', operator: Equals, value: web}]}"), engine.Skip, []string{"a"}, false},
		{"conditions not met", deny, x("a", refs("p", "r")+match+", conditions: {all: [{key: '{{ "+
			"request.object.metadata.labels.app }}', operator: Equals, value: db}]}"), engine.Fail, nil, false},
		{"not known", deny, x("a", refs("p", "r")+"match: {any: [{resources: {namespaceSelector: {matchLabels: {a: b}}}}]}"),
			engine.Unknown, nil, false},
		{"not known beside one that covers", deny,
			x("a", refs("p", "r")+"match: {any: [{resources: {namespaceSelector: {matchLabels: {a: b}}}}]}") +
				x("b", refs("p", "r")+match), engine.Skip, []string{"b"}, false},
		{"some controls are not enough", security,
			x("a", refs("p", "r")+match+", podSecurity: [{controlName: Host Namespaces}]"), engine.Fail, nil, false},
		{"controls of two", security, x("a", refs("p", "r")+match+", podSecurity: [{controlName: Host Namespaces}]") +
			x("b", refs("p", "r")+match+", podSecurity: [{controlName: Privileged Containers, images: ['*']}]"), engine.Skip,
			[]string{"a", "b"}, true},
		{"controls of one", security, x("a", refs("p", "r")+match+", podSecurity: [{controlName: Host Namespaces}, "+
			"{controlName: Privileged Containers, images: ['*']}]"), engine.Skip, []string{"a"}, false},
		{"the rule as a whole", security, x("a", refs("p", "r")+match), engine.Skip, []string{"a"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustCompile(t, ruleOf(tt.body)).Bind(mustExceptions(t, tt.data), nil)
			results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
				Object: object(t, badPod)})
			if len(results) != 1 {
				t.Fatal(results)
			}
			r := results[0]
			var by []string
			for _, x := range r.Exceptions {
				by = append(by, x.Name)
			}
			if r.Outcome != tt.want || !slices.Equal(by, tt.by) || r.Combined != tt.combined {
				t.Errorf("got %s by %v, combined %v: %s", r.Outcome, by, r.Combined, r.Message)
			}
		})
	}
}

func TestExceptionProblems(t *testing.T) {
	const head = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: x, namespace: ns}\nspec:\n"
	tests := []struct{ name, spec, want string }{
		{"no match", "  exceptions: [{policyName: p, ruleNames: [r]}]\n", "e.yaml:4:1: the exception covers nothing"},
		{"no references", "  match: {any: [{resources: {kinds: [Pod]}}]}\n", "e.yaml:4:1: the exception names no policy"},
		{"no rules", "  exceptions: [{policyName: p}]\n  match: {any: [{resources: {kinds: [Pod]}}]}\n",
			"e.yaml:5:16: the entry has no ruleNames"},
		{"unknown control", "  exceptions: [{policyName: p, ruleNames: [r]}]\n" +
			"  match: {any: [{resources: {kinds: [Pod]}}]}\n  podSecurity: [{controlName: Nothing}]\n", "e.yaml:7:18: "},
		{"a list of conditions", "  exceptions: [{policyName: p, ruleNames: [r]}]\n  match: {any: [{resources: {kinds: [Pod]}}]}\n" +
			"  conditions: [{key: a, operator: Equals, value: a}]\n", "e.yaml:7:3: the conditions of an exception are no list"},
		{"an operator of policies only", "  exceptions: [{policyName: p, ruleNames: [r]}]\n  match: {any: [{resources: {kinds: [Pod]}}]}\n" +
			"  conditions: {all: [{key: a, operator: In, value: [a]}]}\n", "e.yaml:7:31: exceptions have no operator In: use AnyIn or AllIn"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, problems := engine.CompileExceptions(
				[]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(head + tt.spec)}},
				engine.Options{})
			if len(x) != 0 || len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
				t.Errorf("got %v", problems)
			}
		})
	}
}

func TestExceptionVersions(t *testing.T) {
	for version, want := range map[string]bool{"v1": false, "v2": true, "v2beta1": true} {
		x, problems := engine.CompileExceptions([]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(
			"apiVersion: kyverno.io/" + version + "\nkind: PolicyException\nmetadata: {name: x, namespace: ns}\nspec:\n" +
				"  exceptions: [{policyName: p, ruleNames: [r]}]\n  match: {any: [{resources: {kinds: [Pod]}}]}\n")}}, engine.Options{})
		if (len(x) == 1) != want || policy.HasErrors(problems) == want {
			t.Errorf("%s: %v", version, problems)
		}
	}
}

// Kyverno takes names of policies as they are: an entry with a wildcard is about no policy, and the others hold.
func TestExceptionNamesNoPolicyByWildcard(t *testing.T) {
	p := mustCompile(t, ruleOf("validate: {failureAction: Enforce, deny: {}}"))
	for names, want := range map[string]engine.Outcome{
		"{policyName: '*', ruleNames: ['*']}":                                    engine.Fail,
		"{policyName: 'p*', ruleNames: [r]}, {policyName: '?', ruleNames: [r]}":  engine.Fail,
		"{policyName: 'p*', ruleNames: [r]}, {policyName: p, ruleNames: ['r*']}": engine.Skip,
	} {
		list, problems := engine.CompileExceptions([]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(
			"apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: x, namespace: ns}\nspec:\n  exceptions: [" +
				names + "]\n  match: {any: [{resources: {kinds: [Pod]}}]}\n")}}, engine.Options{})
		if len(list) != 1 || policy.HasErrors(problems) || len(problems) != strings.Count(names, "policyName: '") ||
			!strings.Contains(problems[0].Message, "covers nothing") {
			t.Fatalf("%s: %v", names, problems)
		}
		got := p.Bind(list, nil).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
			Object: object(t, badPod)})
		if len(got) != 1 || got[0].Outcome != want {
			t.Errorf("%s: %+v", names, got)
		}
	}
}
