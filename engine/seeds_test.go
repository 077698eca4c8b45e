package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// seed is an example of the documents that specify the engine, with what has to come of it.
type seed struct {
	name       string
	policies   string
	exceptions string
	cluster    string // objects that are declared
	object     string // CREATE, or UPDATE where old is set
	old        string // alone: DELETE
	user       admission.UserInfo
	roles      []string // cluster roles

	// want has a line for each result: the rule, the outcome, whether it blocks, by which exceptions it is
	// skipped, the fields (* for some), and after a colon the message, which may be cut off by an ellipsis.
	want []string
	// text and not are what the object holds or does not hold when all mutations are done.
	text, not string
}

func (s seed) request(t *testing.T) *admission.Request {
	t.Helper()
	r := &admission.Request{Operation: admission.Create, UserInfo: s.user, ClusterRoles: s.roles}
	if s.object != "" {
		r.Object = object(t, s.object)
	}
	if s.old != "" {
		r.OldObject = object(t, s.old)
		r.Operation = admission.Update
		if r.Object == nil {
			r.Operation = admission.Delete
		}
	}
	return r
}

func (s seed) run(t *testing.T) {
	t.Helper()
	policies, problems := engine.CompilePolicies(
		[]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(s.policies)}},
		engine.Options{Now: conformanceNow})
	if policy.HasErrors(problems) {
		t.Fatalf("%v\n%s", problems, s.policies)
	}
	exceptions, problems := engine.CompileExceptions(
		[]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(s.exceptions)}},
		engine.Options{Now: conformanceNow})
	if policy.HasErrors(problems) {
		t.Fatal(problems)
	}
	cluster := declared(objects(t, []policy.Source{{Documents: yamltest.Documents(s.cluster)}}))
	r := s.request(t)
	results := policies.Bind(exceptions, cluster).Evaluate(context.Background(), r)
	var got []string
	patched := ""
	for i, res := range results {
		want := ""
		if i < len(s.want) {
			want = s.want[i]
		}
		got = append(got, seedLine(res, want))
		if res.Patched != nil {
			data, err := json.Marshal(res.Patched)
			if err != nil {
				t.Fatal(err)
			}
			patched = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(data))
		}
	}
	if diff := cmp.Diff(s.want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if s.text != "" && !strings.Contains(patched, s.text) {
		t.Errorf("the mutated object has no %s:\n%s", s.text, patched)
	}
	if s.not != "" && strings.Contains(patched, s.not) {
		t.Errorf("the mutated object has %s:\n%s", s.not, patched)
	}
}

// seedLine writes a result as want does; what want does not say is left out.
func seedLine(r engine.Result, want string) string {
	b := r.Rule + " " + string(r.Outcome)
	if r.Enforce && !r.Tolerated && r.Outcome != engine.Pass && r.Outcome != engine.Skip {
		b += " blocks"
	}
	for _, x := range r.Exceptions {
		b += " by " + x.Name
	}
	if r.Combined {
		b += " combined"
	}
	if strings.Contains(want, " *") && len(r.Fields) > 0 {
		b += " *"
	} else if len(r.Fields) > 0 {
		b += " " + strings.Join(r.Fields, " ")
	}
	_, message, ok := strings.Cut(want, ": ")
	if !ok {
		return b
	}
	if cut, ok := strings.CutSuffix(message, "..."); ok && strings.HasPrefix(r.Message, cut) {
		return b + ": " + message
	}
	return b + ": " + r.Message
}

func runSeeds(t *testing.T, seeds []seed) {
	for _, s := range seeds {
		t.Run(s.name, s.run)
	}
}

// clusterPolicy is a policy of kyverno.io with some rules, each indented by two.
func clusterPolicy(name, spec string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: " + name + "}\nspec:\n  " + indentBy(2, spec)
}

func indentBy(n int, s string) string {
	return strings.ReplaceAll(strings.Trim(s, "\n"), "\n", "\n"+strings.Repeat(" ", n)) + "\n"
}

// The rule-specific failure actions: each rule acts as it says, under either name of the field, and what it does
// not say is as the policy says.
func TestSeedFailureActions(t *testing.T) {
	twoRules := func(spec, first, second string) string {
		return clusterPolicy("check-ns-labels", spec+`
rules:
- name: require-ns-purpose-label
  match: {any: [{resources: {kinds: [Namespace]}}]}
  validate:
    `+first+`
    message: "You must have label `+"`purpose` with value `production`"+` set on all new namespaces."
    pattern: {metadata: {labels: {purpose: production}}}
- name: require-ns-env-label
  match: {any: [{resources: {kinds: [Namespace]}}]}
  validate:
    `+second+`
    message: "You must have label `+"`environment` with value `production`"+` set on all new namespaces."
    pattern: {metadata: {labels: {environment: production}}}
`)
	}
	const bad = "apiVersion: v1\nkind: Namespace\nmetadata: {name: bad-ns-1, labels: {environment: production}}"
	const worse = "apiVersion: v1\nkind: Namespace\nmetadata: {name: bad-ns-2, labels: {purpose: development}}"
	purpose := " /metadata/labels/purpose: validation error: You must have label `purpose` with value `production` set " +
		"on all new namespaces. rule require-ns-purpose-label failed at path /metadata/labels/purpose/"
	env := " /metadata/labels/environment: validation error: You must have label `environment` with value `production` " +
		"set on all new namespaces. rule require-ns-env-label failed at path /metadata/labels/environment/"
	runSeeds(t, []seed{
		{name: "Enforce fails, Audit passes", policies: twoRules("", "validationFailureAction: Enforce",
			"validationFailureAction: Audit"), object: bad,
			want: []string{"require-ns-purpose-label fail blocks" + purpose, "require-ns-env-label pass"}},
		{name: "both fail, one blocks", policies: twoRules("", "validationFailureAction: Enforce",
			"validationFailureAction: Audit"), object: worse,
			want: []string{"require-ns-purpose-label fail blocks" + purpose, "require-ns-env-label fail" + env}},
		{name: "the present name", policies: twoRules("", "failureAction: Audit", "failureAction: Enforce"), object: worse,
			want: []string{"require-ns-purpose-label fail" + purpose, "require-ns-env-label fail blocks" + env}},
		{name: "the policy's value is the default", policies: twoRules("validationFailureAction: Enforce",
			"failureAction: Audit", "allowExistingViolations: true"), object: worse,
			want: []string{"require-ns-purpose-label fail" + purpose, "require-ns-env-label fail blocks" + env}},
		{name: "without any it is audited", policies: twoRules("", "allowExistingViolations: true",
			"allowExistingViolations: true"), object: worse,
			want: []string{"require-ns-purpose-label fail" + purpose, "require-ns-env-label fail" + env}},
	})
}

// Generated rules carry the failure action and its overrides of the rule they follow from.
func TestSeedFailureActionsOfGeneratedRules(t *testing.T) {
	data := clusterPolicy("disallow-latest-tag", `
rules:
- name: require-image-tag
  match: {any: [{resources: {kinds: [Pod]}}]}
  validate:
    validationFailureAction: Audit
    validationFailureActionOverrides: [{action: enforce, namespaces: [prod]}]
    message: An image tag is required.
    pattern: {spec: {containers: [{image: '*:*'}]}}
- name: validate-image-tag
  match: {any: [{resources: {kinds: [Pod]}}]}
  validate:
    validationFailureAction: Enforce
    message: Using a mutable image tag e.g. 'latest' is not allowed.
    pattern: {spec: {containers: [{image: '!*:latest'}]}}
`)
	wantRules := []string{"require-image-tag", "validate-image-tag", "autogen-require-image-tag",
		"autogen-cronjob-require-image-tag", "autogen-validate-image-tag", "autogen-cronjob-validate-image-tag"}
	if got := mustCompile(t, data).List()[0].Rules; !slices.Equal(got, wantRules) {
		t.Errorf("got rules %v, want %v", got, wantRules)
	}
	const pod = "spec: {containers: [{name: a, image: nginx}, {name: b, image: 'nginx:latest'}]}"
	cron := func(namespace string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c, namespace: " + namespace +
			"}\nspec: {jobTemplate: {spec: {template: {" + pod + "}}}}"
	}
	const prefix = " /spec/jobTemplate/spec/template/spec/containers/"
	latest := "autogen-cronjob-validate-image-tag fail blocks" + prefix +
		"1/image: validation error: Using a mutable image tag e.g. 'latest' is not allowed. rule " +
		"autogen-cronjob-validate-image-tag failed at path /spec/jobTemplate/spec/template/spec/containers/1/image/"
	missing := prefix + "0/image: validation error: An image tag is required. rule autogen-cronjob-require-image-tag " +
		"failed at path /spec/jobTemplate/spec/template/spec/containers/0/image/"
	runSeeds(t, []seed{
		{name: "cron job", policies: data, object: cron("test"), want: []string{"autogen-cronjob-require-image-tag fail" +
			missing, latest}},
		{name: "cron job where the override holds", policies: data, object: cron("prod"),
			want: []string{"autogen-cronjob-require-image-tag fail blocks" + missing, latest}},
		{name: "deployment", policies: data, object: "apiVersion: apps/v1\nkind: Deployment\n" +
			"metadata: {name: d, namespace: test}\nspec: {template: {" + pod + "}}",
			want: []string{"autogen-require-image-tag fail /spec/template/spec/containers/0/image",
				"autogen-validate-image-tag fail blocks /spec/template/spec/containers/1/image"}},
		{name: "pod", policies: data, object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: test}\n" + pod,
			want: []string{"require-image-tag fail /spec/containers/0/image",
				"validate-image-tag fail blocks /spec/containers/1/image"}},
	})
}

func TestSeedDeprecatedFieldsAreWarnedOf(t *testing.T) {
	data := clusterPolicy("p", `
validationFailureAction: Audit
validationFailureActionOverrides: [{action: enforce, namespaces: [default]}]
mutateExistingOnPolicyUpdate: false
generateExisting: true
rules:
- name: r
  match: {any: [{resources: {kinds: [Namespace]}}]}
  validate: {validationFailureAction: Audit, deny: {}}
`)
	_, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(data)}},
		engine.Options{})
	var got []string
	for _, p := range problems {
		if !p.Warning {
			t.Errorf("%v is no warning", p)
		}
		at, _, _ := strings.Cut(p.String(), " is deprecated")
		got = append(got, at)
	}
	want := []string{
		"p.yaml:5:3: warning: spec.validationFailureAction", "p.yaml:6:3: warning: spec.validationFailureActionOverrides",
		"p.yaml:7:3: warning: spec.mutateExistingOnPolicyUpdate", "p.yaml:8:3: warning: spec.generateExisting",
		"p.yaml:12:16: warning: validate.validationFailureAction",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
