package checks_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// tellAll are policies that fail for every Secret, and for other objects that contain its values. Each fails at another
// field, and quotes the value in many ways.
const tellAll = `
-- policies/tell.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tell}
spec:
  rules:
  - name: quoted
    match: {any: [{resources: {kinds: [Secret, ConfigMap, Deployment]}}]}
    validate:
      failureAction: Enforce
      message: "It holds {{ request.object.data || request.object.stringData || request.object.spec || '' }} and was {{ request.oldObject || '' }}."
      deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
  - name: whole
    match: {any: [{resources: {kinds: [Secret, ConfigMap, Deployment]}}]}
    validate:
      failureAction: Enforce
      message: "As a text {{ to_string(to_string(request.object)) }}, in base64 {{ base64_encode(to_string(request.object)) }}, loud {{ to_upper(to_string(request.object)) }}."
      deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
  - name: decoded
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: "It is {{ base64_decode(request.object.data.password || 'bm9uZQ==') }} or {{ request.object.stringData.password || '' }}."
      deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
  - name: broken
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: "{{ parse_json(base64_decode(request.object.data.password || 'bm9uZQ==')) }}"
      deny: {conditions: {any: [{key: "{{ to_number(base64_decode(request.object.data.password || 'bm9uZQ==')) }}", operator: Equals, value: "{{ parse_json(request.object.stringData.password || '') }}"}]}}
  - name: pattern
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: Other values.
      anyPattern:
      - {data: {password: "x*"}}
      - {stringData: {password: "x*"}}
  - name: compared
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      pattern: {(data): {password: ">5"}}
  - name: exact
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      pattern: {data: {password: "eA=="}}
  - name: label
    match: {any: [{resources: {kinds: [Secret, Deployment, ConfigMap]}}]}
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
  - expression: "int(object.?stringData[?'password'].orValue('x')) > 1"
  - expression: "string(base64.decode(object.?stringData[?'password'].orValue('????'))) == 'x'"
`

// No format of a report or of a rendered difference contains a value of a Secret, however the Secret is written.
func TestNoValueOfASecret(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
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
	const words = "-- apps/d.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n" +
		"      containers:\n      - name: c\n        image: x:1\n        env:\n        - {name: A, value: x}\n" +
		"-- apps/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: x}\n"
	const copies = "replacements:\n- source: {kind: Secret, fieldPath: stringData.password}\n  targets:\n" +
		"  - {select: {kind: ConfigMap}, fieldPaths: [data.a]}\n" +
		"  - {select: {kind: Deployment}, fieldPaths: [\"spec.template.spec.containers.[name=c].env.[name=A].value\"]}\n"
	for _, c := range []struct {
		name, files string
		quiet       bool // the case may have no finding
	}{
		{name: "stringData", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n"},
		{name: "data", files: "-- apps/a.yaml --\n" + plain + "data:\n  password: " + encoded + "\n"},
		{name: "both", files: "-- apps/a.yaml --\n" + plain + "data:\n  password: eA==\nstringData:\n  password: " + secret + "\n"},
		{name: "in brackets", files: "-- apps/a.yaml --\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: " + secret + "}}\n"},
		{name: "JSON", files: "-- apps/a.json --\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},\"data\":{\"password\":\"" + encoded + "\"}}\n"},
		{name: "JSON in lines", files: "-- apps/a.json --\n{\n\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":\n{\"name\":\"s\"},\n\"stringData\":{\n\"password\":\n\"" + secret + "\"}}\n"},
		{name: "escapes", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: \"\\x54r0ub4\\\n    dor-and-3\"\n"},
		{name: "folded", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: >-\n    Tr0ub4dor-and-3\n    " + secret + "\n"},
		{name: "Windows", files: "-- apps/a.yaml --\n" + strings.ReplaceAll(plain+"stringData:\n  password: "+secret+"\n", "\n", "\r\n")},
		{name: "tabs and blanks", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: \"  " + secret + "\\t\"   # " + secret + "\n"},
		{name: "base64 in lines", files: "-- apps/a.yaml --\n" + plain + "data:\n  password: |\n    " + encoded[:8] + "\n    " + encoded[8:] + "\n"},
		{name: "twice in base64", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + encoded + "\n"},
		{name: "in a binary", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: !!binary " + encoded + "\n"},
		{name: "block", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: |\n    " + secret + "\n    next\n"},
		{name: "one of many lines", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: |\n    [db]\n    password = " + secret + "\n    host = x\n"},
		{name: "address", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: postgres://app:" + secret + "@db.shop:5432/x?a=b\n"},
		{name: "JSON as a value", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: '{\"auths\": {\"x.io\": {\"auth\": \"" + base64.StdEncoding.EncodeToString([]byte("u:"+secret)) + "\"}}}'\n"},
		{name: "alias", files: "-- apps/a.yaml --\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  annotations: {a: &p " + secret + "}\nstringData:\n  password: *p\n"},
		{name: "merge key", files: "-- apps/a.yaml --\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nx: &p {password: " + secret + "}\nstringData:\n  <<: *p\n"},
		{name: "list", files: "-- apps/a.yaml --\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  stringData:\n    password: " + secret + "\n"},
		{name: "list of Secrets", files: "-- apps/a.yaml --\napiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: s}\n  stringData:\n    password: " + secret + "\n"},
		{name: "several documents", files: "-- apps/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n" + plain + "stringData:\n  password: " + secret + "\n"},
		{name: "wrong", files: "-- apps/a.yaml --\n" + plain + "data:\n  password: " + secret + "\n  a: [" + secret + "]\nstringDat:\n  x: 1\n"},
		{name: "wrong type", files: "-- apps/a.yaml --\n" + plain + "data: " + secret + "\n"},
		{name: "wrong version", files: "-- apps/a.yaml --\n" + strings.Replace(plain, "v1", "v1beta7", 1) + "stringData:\n  password: " + secret + "\n"},
		{name: "unknown anchor", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n  a: *" + secret + "\n"},
		{name: "a sign of YAML", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  url: *" + secret + "\n"},
		{name: "an anchor", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  url: &" + secret + "\n  password: *" + secret + "\n"},
		{name: "a tag", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: !" + secret + "\n"},
		{name: "16 bits", files: "-- apps/a.yaml --\n" + utf16le(plain+"stringData:\n  password: "+secret+"\n")},
		{name: "16 bits in an error", files: "-- apps/a.yaml --\n" + utf16le(plain+"stringData:\n  password: "+secret+"\n  a: [\n")},
		{name: "twice", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n  password: \"" + secret + "\"\n"},
		{name: "as a key", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: {" + secret + "}\n"},
		{name: "badly indented", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n " + secret + "\n"},
		{name: "last applied", files: "-- apps/a.yaml --\n" + plain + "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"kind\":\"Secret\",\"stringData\":{\"password\":\"" + secret + "\"}}\n"},
		{name: "applied by another", files: "-- apps/a.yaml --\n" + plain + "  annotations:\n    kapp.k14s.io/original: '{\"kind\":\"Secret\",\"data\":{\"password\":\"" + encoded + "\"}}'\n"},
		{name: "no YAML", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n  a: [\n"},
		{name: "literals", files: "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  literals:\n  - password=" + secret + "\n"},
		{name: "merged literals", files: built("secretGenerator:\n- name: s\n  behavior: merge\n  literals:\n  - password=" + secret + "\n-- apps/a.yaml --\n" + base)},
		{name: "wrong literals", files: "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  literals:\n  - " + secret + "\n"},
		{name: "literals of a wrong type", files: "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  literals: {" + secret + ": " + secret + "}\n"},
		{name: "component", files: "-- apps/kustomization.yaml --\ncomponents: [c]\n-- apps/c/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nsecretGenerator:\n- name: s\n  literals: [password=" + secret + "]\n"},
		{name: "file", files: "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  files: [password=x.txt]\n-- apps/x.txt --\n" + secret + "\n"},
		{name: "settings", files: "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  envs: [x.env]\n-- apps/x.env --\nuser=u\npassword=" + secret + "\n"},
		{name: "wrong settings", files: "-- apps/kustomization.yaml --\nsecretGenerator:\n- name: s\n  envs: [x.env]\n-- apps/x.env --\n=" + secret + "\n"},
		{name: "merged patch", files: built("patches:\n- path: p.yaml\n-- apps/p.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n-- apps/a.yaml --\n" + base)},
		{name: "patch in place", files: built("patches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: s}\n    stringData:\n      password: " + secret + "\n-- apps/a.yaml --\n" + base)},
		{name: "wrong patch in place", files: built("patches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: other}\n    stringData:\n      password: " + secret + "\n-- apps/a.yaml --\n" + base)},
		{name: "operations", files: built("patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: replace, path: /data/password, value: " + encoded + "}\n-- apps/a.yaml --\n" + base)},
		{name: "operations in JSON", files: built("patchesJson6902:\n- target: {version: v1, kind: Secret, name: s}\n  patch: '[{\"op\": \"replace\", \"path\": \"/data/password\", \"value\": \"" + encoded + "\"}]'\n-- apps/a.yaml --\n" + base)},
		{name: "wrong operations", files: built("patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: test, path: /data/password, value: " + encoded + "}\n-- apps/a.yaml --\n" + base)},
		{name: "file of operations", files: built("patches:\n- target: {name: s}\n  path: p.yaml\n-- apps/p.yaml --\n- op: replace\n  path: /data/password\n  value: " + encoded + "\n-- apps/a.yaml --\n" + base)},
		{name: "copied", files: "-- apps/kustomization.yaml --\nresources: [a.yaml, c.yaml, d.yaml]\n" + copies + words + "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n"},
		{name: "copied lines", files: "-- apps/kustomization.yaml --\nresources: [a.yaml, c.yaml, d.yaml]\n" + copies + words + "-- apps/a.yaml --\n" + plain + "stringData:\n  password: |\n    first line\n    " + secret + "\n    third line\n"},
		{name: "copied into a Secret", files: "-- apps/kustomization.yaml --\nresources: [a.yaml, c.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.a}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.password]}]\n-- apps/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: " + secret + "\n-- apps/a.yaml --\n" + plain + "stringData:\n  password: x\n"},
		{name: "chart", files: values},
		{name: "values in another base64", files: strings.ReplaceAll(strings.ReplaceAll(values, "stringData", "data"), "| quote", "| b64enc")},
		{name: "release", files: "-- apps/r.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec:\n  source: {repoURL: ., path: chart, helm: {valuesObject: {db: " + secret + "}}}\n  destination: {namespace: x}\n" +
			strings.ReplaceAll(strings.ReplaceAll(values, "apps/", "chart/"), "db: "+secret, "db: x")},
		{name: "substituted", files: "-- clusters/k.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: flux-system}\nspec:\n  path: ./apps\n  prune: true\n  sourceRef: {kind: GitRepository, name: x}\n  postBuild:\n    substitute:\n      db: " + secret + "\n-- apps/kustomization.yaml --\nresources: [a.yaml]\n-- apps/a.yaml --\n" + plain + "stringData:\n  password: ${db}\n"},
		{name: "gone", files: "-- apps/b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: 0ld-" + secret + "}\n"},
		{name: "nothing more in it", files: "-- apps/a.yaml --\n" + plain, quiet: true},
		{name: "next to others", files: "-- apps/a.yaml --\n" + plain + "stringData:\n  password: " + secret + "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n"},
		{name: "policies", files: "-- policies/more.yaml --\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: more}\nspec:\n  rules:\n  - name: a\n" +
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
				if c.name == "gone" {
					r.Git("rm", "--quiet", "apps/a.yaml")
				}
				change := report.Change{Rules: before, Base: before, Head: r.Commit(c.files), Drafts: true, Differences: true}
				if all {
					change.Base, change.All = "", true
				}
				rep := check(t, r, change)
				if len(rep.Findings)+len(rep.Errors) == 0 && !c.quiet && rep.Preview == nil {
					t.Fatalf("nothing is said: %s", rep.Title)
				}
				data, err := json.Marshal(rep)
				if err != nil {
					t.Fatal(err)
				}
				shown := map[string]string{"report": string(data)}
				written(t, shown, "check -o ", rep)
				if !all {
					change.OnlyDifferences, change.Drafts = true, false
					written(t, shown, "diff -o ", check(t, r, change).Rendered())
				}
				for form, text := range shown {
					for _, value := range []string{secret, encoded, "0ld-" + secret, base64.StdEncoding.EncodeToString([]byte("0ld-" + secret)),
						strings.ToUpper(secret), encoded[3:18], "Tr0ub4", "dor-and-3"} {
						if at := strings.Index(text, value); at >= 0 {
							t.Errorf("%s holds %q: …%s…", form, value, text[max(0, at-200):min(len(text), at+60)])
							break
						}
					}
				}
			})
		}
	}
}

// utf16le encodes a text as UTF-16.
func utf16le(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// written adds a value to into in each format.
func written[V output.Value](t *testing.T, into map[string]string, name string, value V) {
	t.Helper()
	for _, form := range output.Names[V]() {
		var b strings.Builder
		if err := output.Write(form, &b, value, output.Options{Width: 400}); err != nil {
			t.Fatal(err)
		}
		into[name+form] = b.String()
	}
}

// A weak value, which may be an ordinary word, is masked at its own place even if the file does not declare a Secret.
// Its columns do not reveal its length.
func TestWeakValueIsMaskedAtItsPlace(t *testing.T) {
	const chart = "-- apps/Chart.yaml --\nname: c\nversion: 1.0.0\napiVersion: v2\n-- apps/templates/s.yaml --\n" +
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: {{ .Values.db | quote }}\n"
	const build = "-- apps/kustomization.yaml --\nresources: [a.yaml, c.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.db}\n" +
		"  targets: [{select: {kind: Secret}, fieldPaths: [stringData.password]}]\n-- apps/a.yaml --\n" +
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: \"\"\n"
	for _, c := range []struct{ name, files, path string }{
		{"chart", chart + "-- apps/values.yaml --\nreplicas: 1\ndb: dragon\nhost: dragon-db\n", "apps/values.yaml"},
		{"chart, quoted", chart + "-- apps/values.yaml --\nreplicas: 1\ndb: \"dragon\"   \nhost: dragon-db\n", "apps/values.yaml"},
		{"replacement", build + "-- apps/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  db: dragon\n  host: dragon-db\n", "apps/c.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit("\n-- policies/p.yaml --\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n" +
				"  - name: a\n    match: {any: [{resources: {kinds: [Secret]}}]}\n    validate:\n      failureAction: Enforce\n" +
				"      message: It is {{ request.object.stringData.password }}.\n      pattern: {stringData: {password: \"x*\"}}\n")
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: r.Commit(c.files), Differences: true})
			met := false
			for _, f := range rep.Findings {
				if f.Resource.Kind == "Secret" && f.Field == "/stringData/password" && f.Origin.Path == c.path {
					met = true
					if f.Origin.EndColumn != f.Origin.StartColumn+len(report.Hidden) {
						t.Errorf("%s: %+v", f.Rule, f.Origin)
					}
				}
			}
			if !met {
				t.Fatalf("no finding at the value: %q", lines(rep))
			}
			for n, line := range rep.Excerpts[c.path] {
				if strings.Contains(line, "db: ") && !strings.Contains(line, "db: "+report.Hidden) ||
					strings.Contains(line, "host") && !strings.Contains(line, "dragon-db") {
					t.Errorf("%d: %s", n, line)
				}
			}
			for _, d := range rep.Differences {
				for _, h := range d.Hunks {
					for _, l := range h.Lines {
						if strings.Contains(l.Text, report.Hidden) && l.Origin != nil && l.Origin.EndColumn != 0 {
							t.Errorf("%+v: %+v", l, l.Origin)
						}
					}
				}
			}
		})
	}
}

// Values of SOPS, sealed Secrets and external Secrets are encrypted or references, so they are not masked.
func TestEncryptedValuesAreNotMasked(t *testing.T) {
	const value = "ENC[AES256_GCM,data:p673wCQv7vo=,iv:YYtrWvlq=,tag:A1=,type:str]"
	r := treetest.New(t)
	base := r.Commit(tellAll + "-- apps/x.yaml --\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n")
	rep := check(t, r, report.Change{Rules: base, Base: base, Differences: true, Head: r.Commit("-- apps/a.yaml --\napiVersion: v1\n" +
		"kind: Secret\nmetadata:\n  name: s\nstringData:\n  password: " + value + "\nsops: {version: 3.9.0}\n---\n" +
		"apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: t}\nspec:\n  encryptedData:\n    password: AgBy3i4OJSWK\n")})
	for path, lines := range rep.Excerpts {
		for n, line := range lines {
			if strings.Contains(line, report.Hidden) {
				t.Errorf("%s:%d: %s", path, n, line)
			}
		}
	}
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, report.Hidden) || !strings.Contains(text, value) || !strings.Contains(text, "AgBy3i4OJSWK") {
		t.Errorf("%s", text)
	}
}

// A report does not depend on the values of Secrets, except where policies quote them. It neither contains a value nor
// masks ordinary words that equal one.
func TestReportDoesNotDependOnValuesOfSecrets(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods)
	reportOf := func(value string) string {
		r.Git("checkout", "--quiet", "--force", base)
		rep := check(t, r, report.Change{Rules: base, Base: base, Differences: true, Drafts: true, Head: r.Commit("-- apps/a.yaml --\n" +
			badPod + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {host: " + quote(value) + "}\n" +
			"-- apps/b.yaml --\n" + strings.ReplaceAll(badPod, "name: a", "name: nginx") + "-- apps/c.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: default}\ndata: {replicas: '1', port: '80', on: 'true', image: 'nginx', env: production, size: 512Mi}\n")})
		if len(rep.Findings) == 0 || len(rep.Excerpts) == 0 || len(rep.Differences) == 0 || len(rep.Drafts) == 0 {
			t.Fatalf("%+v", rep)
		}
		data, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := reportOf("xyz")
	if strings.Contains(want, "xyz") {
		t.Errorf("it holds the value: %s", want)
	}
	for _, value := range []string{"true", "80", "default", "nginx", "", "1", "0", "null", "apps", "network", "host", "a", "hidden",
		"production", "512Mi", "container", "hostNetwork", "(hidden)", "apps/a.yaml", "policies/p.yaml", "ConfigMap", "x:1",
		"Tr0ub4dor-and-3", "correct horse battery staple", "one\ntwo\nthree 3\n", strings.Repeat("0123456789", 1000)} {
		if got := reportOf(value); got != want {
			at := 0
			for at < len(got) && at < len(want) && got[at] == want[at] {
				at++
			}
			t.Errorf("with %.40q, the report is …%.160s…, and was …%.160s…", value, got[max(0, at-60):], want[max(0, at-60):])
		}
	}
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
