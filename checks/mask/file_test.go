package mask_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/mask"
)

// A masked file differs from the original only in the values of Secrets.
func TestReadMasksValuesOfSecretsOnly(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	for _, c := range []struct {
		name, path string
		role       mask.Role
		text, want string
	}{
		{"block", "a.yaml", mask.Plain, secret + "type: Opaque\nstringData:\n  password: hunter2 # old: hunter1\n  user: \"bob\"\n",
			secret + "type: Opaque\nstringData:\n  password: (hidden)\n  user: (hidden)\n"},
		{"the kind comes last", "a.yaml", mask.Plain, "data:\n  a: aHVudGVyMg==\nimmutable: true\nkind: Secret\n",
			"data:\n  a: (hidden)\nimmutable: true\nkind: Secret\n"},
		{"flow", "a.yaml", mask.Plain, "{kind: Secret, stringData: {password: hunter2, user: 'b}, b'}, type: Opaque}\n",
			"{kind: Secret, stringData: {password: (hidden), user: (hidden)}, type: Opaque}\n"},
		{"JSON", "a.json", mask.Plain, "{\"kind\":\"Secret\",\"data\":{\"a\":\"aHVudGVyMg==\",\"b\":\"eA==\"},\"type\":\"Opaque\"}",
			"{\"kind\":\"Secret\",\"data\":{\"a\":(hidden),\"b\":(hidden)},\"type\":\"Opaque\"}"},
		{"JSON in lines", "a.json", mask.Plain, "{\n \"kind\": \"Secret\",\n \"data\": {\n  \"a\": \"aHVudGVyMg==\"\n }\n}\n",
			"{\n \"kind\": \"Secret\",\n \"data\": {\n  \"a\": (hidden)\n }\n}\n"},
		{"texts", "a.yaml", mask.Plain, "kind: Secret\nstringData:\n  a: |\n    one\n\n    two\n  b: >-\n    three\n  c: \"four\n    five\"\n  d: six\n   seven\ntype: y\n",
			"kind: Secret\nstringData:\n  a: (hidden)\n    (hidden)\n\n    (hidden)\n  b: (hidden)\n    (hidden)\n  c: (hidden)\n    (hidden)\n  d: (hidden)\n   (hidden)\ntype: y\n"},
		{"alias", "a.yaml", mask.Plain, "x: &p hunter2\ny: &all {a: b1}\nkind: Secret\nstringData:\n  <<: *all\n  password: *p\n  q: &r z\n",
			"x: (hidden)\ny: &all {a: (hidden)}\nkind: Secret\nstringData:\n  <<: *all\n  password: *p\n  q: (hidden)\n"},
		{"merged kind", "a.yaml", mask.Plain, "x: &k {kind: Secret}\n<<: *k\nstringData: {a: b1}\n",
			"x: &k {kind: (hidden)}\n<<: *k\nstringData: {a: (hidden)}\n"},
		{"kind in lower case", "a.yaml", mask.Plain, "kind: secret\nstringData: {a: b1}\n", "kind: secret\nstringData: {a: (hidden)}\n"},
		{"misspelled and misplaced", "a.yaml", mask.Plain,
			secret + "spec:\n  stringData:\n    password: hunter2\nstringdata: {a: b1}\ndta:\n- a: b1\npassword: b1\nmetadata2: {a: b1}\ntype: Opaque\n",
			secret + "spec:\n  stringData:\n    password: (hidden)\nstringdata: {a: (hidden)}\ndta:\n- a: (hidden)\npassword: (hidden)\nmetadata2: {a: (hidden)}\ntype: Opaque\n"},
		{"misplaced in the metadata", "a.yaml", mask.Plain, "kind: Secret\nmetadata:\n  name: s\n  labels: {a: b, c: {d: e1}}\n  stringData: {a: b1}\n",
			"kind: Secret\nmetadata:\n  name: s\n  labels: {a: b, c: {d: (hidden)}}\n  stringData: {a: (hidden)}\n"},
		{"Secret of another API", "a.yaml", mask.Plain, "apiVersion: secretsmanager.aws.upbound.io/v1\nkind: Secret\nspec: {region: eu-central-1}\ndata: {a: b1}\n",
			"apiVersion: secretsmanager.aws.upbound.io/v1\nkind: Secret\nspec: {region: eu-central-1}\ndata: {a: (hidden)}\n"},
		{"reference", "a.yaml", mask.Plain, "kind: HelmRelease\nspec:\n  valuesFrom: [{kind: Secret, name: s, valuesKey: k}]\n  values:\n    extra: [{kind: Secret, metadata: {name: s}, dta: b1}]\n",
			"kind: HelmRelease\nspec:\n  valuesFrom: [{kind: Secret, name: s, valuesKey: k}]\n  values:\n    extra: [{kind: Secret, metadata: {name: s}, dta: (hidden)}]\n"},
		{"kind in base64", "a.yaml", mask.Plain, "kind: !!binary U2VjcmV0\nstringData: {a: b1}\n",
			"kind: !!binary U2VjcmV0\nstringData: {a: (hidden)}\n"},
		{"list", "a.yaml", mask.Plain, "kind: List\nitems:\n- kind: Secret\n  data:\n    a: Yg==\n- kind: ConfigMap\n  data:\n    a: b\n",
			"kind: List\nitems:\n- kind: Secret\n  data:\n    a: (hidden)\n- kind: ConfigMap\n  data:\n    a: b\n"},
		{"list of Secrets", "a.yaml", mask.Plain, "kind: SecretList\nitems:\n- data: {a: Yg==}\n",
			"kind: SecretList\nitems:\n- data: {a: (hidden)}\n"},
		{"documents", "a.yaml", mask.Plain, "kind: ConfigMap\ndata: {a: b}\n---\nkind: Secret\ndata:\n  a: Yg==\n--- # next\nkind: ConfigMap\ndata: {a: b}\n",
			"kind: ConfigMap\ndata: {a: b}\n---\nkind: Secret\ndata:\n  a: (hidden)\n--- # next\nkind: ConfigMap\ndata: {a: b}\n"},
		{"last applied", "a.yaml", mask.Plain, "kind: Secret\nmetadata:\n  annotations:\n    a: b\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"stringData\":{\"a\":\"hunter2\"}}\n",
			"kind: Secret\nmetadata:\n  annotations:\n    a: b\n    kubectl.kubernetes.io/last-applied-configuration: (hidden)\n      (hidden)\n"},
		{"no Secret", "a.yaml", mask.Plain, "kind: Pod\nspec: {volumes: [{secret: {secretName: data}}]}\ndata: {password: x}\n",
			"kind: Pod\nspec: {volumes: [{secret: {secretName: data}}]}\ndata: {password: x}\n"},
		{"line breaks of Windows", "a.yaml", mask.Plain, "kind: Secret\r\ndata:\r\n  a: Yg==\r\n", "kind: Secret\ndata:\n  a: (hidden)\n"},
		{"line breaks of YAML", "a.yaml", mask.Plain, "kind: Secret\ndata:\u2028  a: Yg==\n  b: Yg==\n",
			"kind: Secret\ndata:(hidden)\n  b: (hidden)\n"},
		{"no YAML", "a.yaml", mask.Plain, "kind: Secret\nmetadata:\n  name: s\nstringData:\n  password: {{ .Values.x }} hunter2\n  a: [\n  hunter2\n",
			"kind: Secret\nmetadata:\n  name: (hidden)\nstringData:\n  password: (hidden)\n  a: (hidden)\n  (hidden)\n"},

		{"no YAML, in another spelling", "a.yaml", mask.Plain, "kind: !!str &k {{ \"Secret\" }}\nstringData:\n  password: {{ .Values.x }} hunter2\n",
			"kind: (hidden)\nstringData:\n  password: (hidden)\n"},
		{"no YAML, of a kind without secrets", "a.yaml", mask.Plain, "kind: SealedSecret\nspec:\n  encryptedData:\n    a: {{ .Values.x }}\n---\nkind: SecretStore\nspec:\n  a: {{ x }}\n",
			"kind: SealedSecret\nspec:\n  encryptedData:\n    a: {{ .Values.x }}\n---\nkind: SecretStore\nspec:\n  a: {{ x }}\n"},
		{"encrypted", "a.yaml", mask.Plain, "kind: Secret\ndata:\n  a: ENC[AES256_GCM,data:p67+/=,iv:YY=,tag:A=,type:str]\n  b: Yg==\n",
			"kind: Secret\ndata:\n  a: ENC[AES256_GCM,data:p67+/=,iv:YY=,tag:A=,type:str]\n  b: (hidden)\n"},
		{"16 bits", "a.yaml", mask.Plain, "\xff\xfek\x00i\x00n\x00d\x00:\x00 \x00S\x00e\x00c\x00r\x00e\x00t\x00\n\x00d\x00a\x00t\x00a\x00:\x00\n\x00 \x00a\x00:\x00b\x00:\x00 \x00c\x00\n\x00",
			"kind: Secret\ndata:\n a:b: (hidden)\n"},
		{"a copy in an annotation", "a.yaml", mask.Plain, "kind: Secret\nmetadata:\n  annotations: {b: '{\"data\": {\"a\": \"Yg==\"}}', c: '{}'}\n",
			"kind: Secret\nmetadata:\n  annotations: {b: (hidden), c: '{}'}\n"},
		{"a map instead of a string", "a.yaml", mask.Plain, "kind: Secret\ndata:\n  a: {b: c}\n  d: [e]\n", "kind: Secret\ndata:\n  a: {(hidden) (hidden)}\n  d: [(hidden)]\n"},

		{"literals", "kustomization.yaml", mask.Plain,
			"secretGenerator:\n- name: s\n  literals:\n  - password=hunter2\n  - \"a=b=c\"\n  - >-\n    x=y\n  files: [x]\nconfigMapGenerator:\n- literals: [a=b]\n",
			"secretGenerator:\n- name: s\n  literals:\n  - password=(hidden)\n  - \"a=(hidden)\n  - (hidden)\n    (hidden)\n  files: [x]\nconfigMapGenerator:\n- literals: [a=b]\n"},
		{"literals in a row", "kustomization.yaml", mask.Plain, "secretGenerator: [{name: s, literals: [a=b1, 'c=d'], type: Opaque}]\n",
			"secretGenerator: [{name: s, literals: [a=(hidden), 'c=(hidden)], type: Opaque}]\n"},
		{"component", "kustomization.yaml", mask.Plain, "kind: Component\nSecretGenerator:\n- Literals:\n  - a=b\n",
			"kind: Component\nSecretGenerator:\n- Literals:\n  - a=(hidden)\n"},
		{"generator", "g.yaml", mask.Plain, "kind: SecretGenerator\nliterals:\n- a=b\n", "kind: SecretGenerator\nliterals:\n- a=(hidden)\n"},
		{"patch", "kustomization.yaml", mask.Plain,
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: replace\n      path: /data/a\n      value: Yg==\n    - {op: add, path: /metadata/labels/a, value: b}\n",
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: replace\n      path: /data/a\n      value: (hidden)\n    - {op: add, path: /metadata/labels/a, value: b}\n"},
		{"patch of a field that Secrets do not have", "kustomization.yaml", mask.Plain,
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: add, path: /spec/a, value: b1}\n    - {op: add, path: /type, value: b1}\n",
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: add, path: /spec/a, value: (hidden)}\n    - {op: add, path: /type, value: b1}\n"},
		{"patch without a kind, which may be of a Secret", "kustomization.yaml", mask.Plain, "patches:\n- patch: '[{op: add, path: /stringData/a, value: b1}]'\n  target: {name: s}\n",
			"patches:\n- patch: (hidden)\n  target: {name: s}\n"},
		{"patch of another kind", "kustomization.yaml", mask.Plain, "patches:\n- patch: '[{op: add, path: /data/a, value: b1}]'\n  target: {kind: ConfigMap}\n",
			"patches:\n- patch: '[{op: add, path: /data/a, value: b1}]'\n  target: {kind: ConfigMap}\n"},
		{"merged patch", "kustomization.yaml", mask.Plain, "patchesStrategicMerge:\n- |-\n  kind: Secret\n  metadata: {name: s}\n  stringData:\n    a: b\n",
			"patchesStrategicMerge:\n- |-\n  kind: Secret\n  metadata: {name: s}\n  stringData:\n    a: (hidden)\n"},
		{"file of a patch", "p.yaml", mask.Patch, "- op: add\n  path: /stringData\n  value:\n    a: b\n- op: add\n  path: \"\"\n  value: {data: {a: Yg==}}\n",
			"- op: add\n  path: /stringData\n  value:\n    a: (hidden)\n- op: add\n  path: \"\"\n  value: {data: {a: (hidden)}}\n"},
		{"settings", "x.env", mask.Settings, "# a\nPASSWORD=hunter2\nEMPTY=\n\nhunter2\n", "(hidden)\nPASSWORD=(hidden)\nEMPTY=\n\n(hidden)\n"},
		{"data", "x", mask.Confidential, "hunter2\nuser: bob\n", "(hidden)\n(hidden)\n"},
		{"values of a chart", "values-prod.yaml", mask.Plain, "db:\n  password: hunter2\n  existingSecret: db\n  host: h\n", "db:\n  password: (hidden)\n  existingSecret: db\n  host: h\n"},
		{"values of a release", "r.yaml", mask.Plain, "kind: HelmRelease\nspec:\n  values:\n    auth: {token: abc, user: x}\n    tokens: 1\n",
			"kind: HelmRelease\nspec:\n  values:\n    auth: {token: (hidden), user: x}\n    tokens: 1\n"},
		{"values as a text", "a.yaml", mask.Plain, "kind: Application\nspec: {source: {helm: {\n  parameters: [{name: db.password, value: hunter2}], valuesObject: {apiKey: k}}}}\n---\nkind: Application\nspec:\n  source:\n    helm:\n      values: |\n        replicas: 1\n        password: hunter2\n",
			"kind: Application\nspec: {source: {helm: {\n  parameters: [{name: db.password, value: (hidden)}], valuesObject: {apiKey: (hidden)}}}}\n---\nkind: Application\nspec:\n  source:\n    helm:\n      values: |\n        replicas: 1\n        password: (hidden)\n"},
		{"a Secret in a text", "a.yaml", mask.Plain, "kind: ConfigMap\ndata:\n  s.yaml: |\n    kind: Secret\n    stringData:\n      a: b\n  t.yaml: \"kind: Secret\\nstringData: {a: b1}\"\n",
			"kind: ConfigMap\ndata:\n  s.yaml: |\n    kind: Secret\n    stringData:\n      a: (hidden)\n  t.yaml: (hidden)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(mask.Read(c.path, []byte(c.text), c.role).Lines(), "\n")
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Reading any file does not panic and keeps the number of lines, and the value of a Secret in plain YAML is masked.
func FuzzRead(f *testing.F) {
	f.Add("kind: Secret\nstringData:\n  a: |\n    x\n", 0)
	f.Add("patches:\n- {target: {}, patch: '[{path: /data/a, value: b}]'}\n", 1)
	f.Add("patches:}a", 1)
	f.Add("a: &a [*a]\n\"kind\": \"Secret\"\r\ndata: {a: &b !!str c}\u2028", 2)
	f.Fuzz(func(t *testing.T, text string, role int) {
		lines := mask.Read("values.yaml", []byte(text), mask.Role(role&3)).Lines()
		want := strings.Count(strings.ReplaceAll(text, "\r\n", "\n"), "\n") + 1
		if len(lines) != want {
			t.Errorf("%d lines, want %d", len(lines), want)
		}
		const secret = "5tr0ng-s3cret"
		document := "kind: Secret\nstringData:\n  a: " + secret + "\n---\n" + text
		if got := strings.Join(mask.Read("a.yaml", []byte(document), mask.Plain).Lines()[:3], "\n"); strings.Contains(got, secret) {
			t.Errorf("shown: %q", got)
		}
	})
}
