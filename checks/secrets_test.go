package checks_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// tellAll are policies that fail on every Secret, each at another field, and quote what it holds.
const tellAll = `
-- policies/tell.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tell}
spec:
  rules:
  - name: quoted
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: "It holds {{ request.object.data || request.object.stringData || '' }} and was {{ request.oldObject || '' }}."
      deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
  - name: decoded
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: "It is {{ base64_decode(request.object.data.password || 'bm9uZQ==') }} or {{ request.object.stringData.password || '' }}."
      deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
  - name: pattern
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: Other values.
      anyPattern:
      - {data: {password: "x*"}}
      - {stringData: {password: "x*"}}
  - name: label
    match: {any: [{resources: {kinds: [Secret, Deployment]}}]}
    validate:
      failureAction: Enforce
      message: Label it.
      pattern: {metadata: {labels: {team: "?*"}}}
-- policies/cel.yaml --
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets]}]
  validations:
  - expression: "false"
    messageExpression: "'in CEL: ' + string(base64.decode(object.?data[?'password'].orValue('bm9uZQ=='))) + object.?stringData[?'password'].orValue('')"
`

// No form of a report holds a value of a Secret, however and wherever it is written.
func TestNoValueOfASecret(t *testing.T) {
	const secret = "Tr0ub4dor-and-3"
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	plain := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	built := func(text string) string {
		return "-- apps/kustomization.yaml --\nnamespace: shop\nresources: [a.yaml]\n" + text
	}
	base := plain + "data:\n  password: " + base64.StdEncoding.EncodeToString([]byte("0ld-"+secret)) + "\n"
	values := "-- apps/Chart.yaml --\nname: c\nversion: 1.0.0\napiVersion: v2\n-- apps/templates/s.yaml --\n" +
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: {{ .Values.db | quote }}\n" +
		"  url: postgres://app:{{ .Values.db }}@db/x\n-- apps/values.yaml --\nreplicas: 1\ndb: " + secret + "\n"
	for _, c := range []struct{ name, files string }{
		{"stringData", "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n"},
		{"data", "-- apps/a.yaml --\n" + plain + "data:\n  password: " + encoded + "\n"},
		{"in brackets", "-- apps/a.yaml --\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: " + secret + "}}\n"},
		{"JSON", "-- apps/a.json --\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},\"data\":{\"password\":\"" + encoded + "\"}}\n"},
		{"block", "-- apps/a.yaml --\n" + plain + "stringData:\n  password: |\n    " + secret + "\n    next\n"},
		{"alias", "-- apps/a.yaml --\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  annotations: {a: &p " + secret + "}\nstringData:\n  password: *p\n"},
		{"list", "-- apps/a.yaml --\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  stringData:\n    password: " + secret + "\n"},
		{"several documents", "-- apps/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n" + plain + "stringData:\n  password: " + secret + "\n"},
		{"wrong", "-- apps/a.yaml --\n" + plain + "data:\n  password: " + secret + "\n  a: [" + secret + "]\nstringDat:\n  x: 1\n"},
		{"last applied", "-- apps/a.yaml --\n" + plain + "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"kind\":\"Secret\",\"stringData\":{\"password\":\"" + secret + "\"}}\n"},
		{"no YAML", "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n  a: [\n"},
		{"literals", "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  literals:\n  - password=" + secret + "\n"},
		{"wrong literals", "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  literals:\n  - " + secret + "\n"},
		{"component", "-- apps/kustomization.yaml --\ncomponents: [c]\n-- apps/c/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nsecretGenerator:\n- name: s\n  literals: [password=" + secret + "]\n"},
		{"file", "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  files: [password=x.txt]\n-- apps/x.txt --\n" + secret + "\n"},
		{"settings", "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  envs: [x.env]\n-- apps/x.env --\nuser=u\npassword=" + secret + "\n"},
		{"wrong settings", "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  envs: [x.env]\n-- apps/x.env --\n=" + secret + "\n"},
		{"merged patch", built("patches:\n- path: p.yaml\n-- apps/p.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n-- apps/a.yaml --\n" + base)},
		{"patch in place", built("patches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: s}\n    stringData:\n      password: " + secret + "\n-- apps/a.yaml --\n" + base)},
		{"operations", built("patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: replace, path: /data/password, value: " + encoded + "}\n-- apps/a.yaml --\n" + base)},
		{"file of operations", built("patches:\n- target: {name: s}\n  path: p.yaml\n-- apps/p.yaml --\n- op: replace\n  path: /data/password\n  value: " + encoded + "\n-- apps/a.yaml --\n" + base)},
		{"chart", values},
		{"gone", "-- apps/b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"},
		{"next to others", "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n"},
		{"policies", "-- policies/more.yaml --\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: more}\nspec:\n  rules:\n  - name: a\n" +
			"    match: {any: [{resources: {kinds: [Secret]}}]}\n    validate:\n      failureAction: Enforce\n      message: \"{{ request.object }}\"\n      pattern: {type: x}\n"},
	} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " ", all), func(t *testing.T) {
				r := treetest.New(t)
				old := tellAll + "-- base/a.yaml --\n" + base
				if !strings.Contains(c.files, "kustomization") && !strings.Contains(c.files, "Chart") {
					old += "-- apps/a.yaml --\n" + base
				}
				before := r.Commit(old)
				change := report.Change{Rules: before, Base: before, Head: r.Commit(c.files), Drafts: true}
				if all {
					change.Base, change.All = "", true
				}
				rep := check(t, r, change)
				if len(rep.Findings)+len(rep.Errors) == 0 && c.name != "gone" && rep.Preview == nil {
					t.Fatalf("nothing is said: %s", rep.Title)
				}
				data, err := json.Marshal(rep)
				if err != nil {
					t.Fatal(err)
				}
				shown := map[string]string{"report": string(data)}
				for _, form := range output.Names[*report.Report]() {
					var b strings.Builder
					if err := output.Write(form, &b, rep, output.Options{Width: 400}); err != nil {
						t.Fatal(err)
					}
					shown[form] = b.String()
				}
				for form, text := range shown {
					for _, value := range []string{secret, encoded, "0ld-" + secret, base64.StdEncoding.EncodeToString([]byte("0ld-" + secret))} {
						if at := strings.Index(text, value); at >= 0 {
							t.Errorf("%s holds %q: …%s…", form, value, text[max(0, at-200):min(len(text), at+60)])
						}
					}
				}
			})
		}
	}
}

// Where nothing is secret, a report is as it would be without any Secret.
func TestWordsOfOthersStay(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods)
	head := r.Commit("-- apps/a.yaml --\n" + badPod + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" +
		"stringData: {host: network, a: apps, b: \"true\", user: admin, port: \"8080\", n: \"1\"}\n")
	var checker checks.Checker
	rep, err := checker.Run(t.Context(), report.Change{GitDir: r.GitDir, Rules: base, Base: base, Head: head, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if f := rep.Findings[0]; f.Resource.Kind != "Pod" || f.Origin.Path != "apps/a.yaml" || strings.Contains(f.Message, report.Hidden) &&
		!strings.Contains(f.Message, "No host") {
		t.Errorf("%+v", f)
	}
	if line := rep.Excerpts["apps/a.yaml"][4]; !strings.Contains(line, "hostNetwork: true") {
		t.Errorf("%q", line)
	}
}
