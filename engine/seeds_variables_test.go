package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// ofPods is a policy with one rule on pods that is not for background scans; body is at the rule's level.
func ofPods(name, body string) string {
	return clusterPolicy("p", "background: false\nrules:\n- name: "+name+
		"\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  "+indentBy(2, body))
}

func TestSeedReferences(t *testing.T) {
	probes := func(port string) string {
		return ofPods("check-tcpSocket", `
validate:
  failureAction: Enforce
  message: "Port number for the livenessProbe must be less than that of the readinessProbe."
  pattern:
    spec:
      ^(containers):
      - livenessProbe:
          tcpSocket:
            port: "`+port+`"
        readinessProbe:
          tcpSocket:
            port: "3000"
`)
	}
	same, less := probes("$(./../../../readinessProbe/tcpSocket/port)"),
		probes("$(<./../../../readinessProbe/tcpSocket/port)")
	object := func(live string) string {
		return seedPod("", "containers: [{name: a, livenessProbe: {tcpSocket: {port: "+live+
			"}}, readinessProbe: {tcpSocket: {port: 3000}}}]")
	}
	const fail = "check-tcpSocket fail blocks /spec/containers: validation error: Port number for the livenessProbe " +
		"must be less than that of the readinessProbe. rule check-tcpSocket failed at path /spec/containers/"
	absolute := ofPods("absolute", `
validate:
  failureAction: Enforce
  message: "$(/name) needs the label"
  pattern: {metadata: {labels: {app: "$(./../../../spec/serviceAccountName)"}}, spec: {serviceAccountName: web}}
`)
	runSeeds(t, []seed{
		{name: "the same port", policies: same, object: object("3000"), want: []string{"check-tcpSocket pass"}},
		{name: "another port", policies: same, object: object("2000"), want: []string{fail}},
		{name: "a lower port", policies: less, object: object("2999"), want: []string{"check-tcpSocket pass"}},
		{name: "no lower port", policies: less, object: object("3000"), want: []string{fail}},
		{name: "a reference within the pattern", policies: absolute,
			object: seedPod(", labels: {app: web}", "serviceAccountName: web"), want: []string{"absolute pass"}},
		{name: "an absolute reference in a message", policies: absolute,
			object: seedPod(", labels: {app: db}", "serviceAccountName: web"),
			want: []string{"absolute fail blocks /metadata/labels/app: validation error: absolute needs the label. rule " +
				"absolute failed at path /metadata/labels/app/"}},
	})
}

// The environment variables of a pod keep their references, which are escaped, and the rule's name is put in.
func TestSeedEscapes(t *testing.T) {
	otel := `
apiVersion: kyverno.io/v1
kind: Policy
metadata:
  name: add-otel-resource-env
  namespace: foobar
spec:
  background: false
  rules:
  - name: imbue-pod-spec
    match:
      any:
      - resources:
          kinds:
          - v1/Pod
    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - (name): "?*"
            env:
            - name: NODE_NAME
              value: "mutated_name"
            - name: POD_IP_ADDRESS
              valueFrom:
                fieldRef:
                  fieldPath: status.podIP
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: POD_SERVICE_ACCOUNT
              valueFrom:
                fieldRef:
                  fieldPath: spec.serviceAccountName
            - name: OTEL_RESOURCE_ATTRIBUTES
              value: >-
                k8s.namespace.name=\$(POD_NAMESPACE),
                k8s.node.name=\$(NODE_NAME),
                k8s.pod.name=\$(POD_NAME),
                k8s.pod.primary_ip_address=\$(POD_IP_ADDRESS),
                k8s.pod.service_account.name=\$(POD_SERVICE_ACCOUNT),
                rule_applied=$(./../../../../../../../../name)
`
	const test = `
apiVersion: v1
kind: Pod
metadata:
  name: test-env-vars
  namespace: foobar
spec:
  containers:
  - name: test-container
    image: busybox
    command: ["sh", "-c"]
    env:
    - name: NODE_NAME
      value: "node_name"
    - name: POD_NAME
      valueFrom: {fieldRef: {fieldPath: metadata.name}}
    - name: POD_NAMESPACE
      valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
    - name: POD_IP_ADDRESS
      valueFrom: {fieldRef: {fieldPath: status.podIP}}
  restartPolicy: Never
`
	mutated := []string{"imbue-pod-spec pass: mutated Pod/test-env-vars in namespace foobar"}
	runSeeds(t, []seed{
		{name: "references to environment variables stay", policies: otel, object: test, want: mutated,
			text: `{"name":"OTEL_RESOURCE_ATTRIBUTES","value":"k8s.namespace.name=$(POD_NAMESPACE), ` +
				`k8s.node.name=$(NODE_NAME), k8s.pod.name=$(POD_NAME), k8s.pod.primary_ip_address=$(POD_IP_ADDRESS), ` +
				`k8s.pod.service_account.name=$(POD_SERVICE_ACCOUNT), rule_applied=imbue-pod-spec"}`},
		{name: "a value is replaced", policies: otel, object: test, want: mutated,
			text: `{"name":"NODE_NAME","value":"mutated_name"}`, not: `"node_name"`},
		{name: "a Policy has no say elsewhere", policies: otel, object: strings.Replace(test, "namespace: foobar",
			"namespace: other", 1)},
		{name: "an escaped variable stays", policies: ofPods("escaped",
			"mutate: {patchStrategicMerge: {metadata: {annotations: {a: '\\{{ request.object.metadata.name }}'}}}}"),
			object: seedPod("", ""),
			want:   []string{"escaped pass"}, text: `"a":"{{ request.object.metadata.name }}"`},
	})
}

func TestSeedRequestVariables(t *testing.T) {
	annotate := func(value string) string {
		return ofPods("who", "mutate:\n  patchStrategicMerge:\n    metadata:\n      annotations:\n        a: "+value)
	}
	admin := admission.UserInfo{Username: "kubernetes-admin", Groups: []string{"system:masters"}}
	account := admission.UserInfo{Username: "system:serviceaccount:nirmata:user1"}
	pass := []string{"who pass: mutated Pod/p in namespace default"}
	seeds := []seed{{name: "roles", user: admin, roles: []string{"dave-admin", "system:discovery"},
		policies: annotate(`"{{ request.clusterRoles | join(';', @) }}"`), text: `"a":"dave-admin;system:discovery"`}}
	for _, tt := range []struct {
		expression, want string
		user             admission.UserInfo
	}{
		{"{{request.userInfo.username}}", "kubernetes-admin", admin},
		{"{{request.userInfo.groups[0]}}", "system:masters", admin},
		{"{{serviceAccountName}}", "user1", account},
		{"{{serviceAccountNamespace}}", "nirmata", account},
		{"{{request.operation}}", "CREATE", admin},
		{"{{request.namespace}}", "default", admin},
		{"{{request.object.metadata.name}}", "p", admin},
		{"{{ request.object.metadata | to_string(@) }}", `{\"name\":\"p\",\"namespace\":\"default\"}`, admin},
		{"ns-owner-{{request.namespace}}-{{request.userInfo.username}}-binding", "ns-owner-default-kubernetes-admin-binding",
			admin},
	} {
		seeds = append(seeds, seed{name: tt.expression, user: tt.user, policies: annotate("'" + tt.expression + "'"),
			text: `"a":"` + tt.want + `"`})
	}
	for i := range seeds {
		seeds[i].object, seeds[i].want = seedPod("", ""), pass
	}
	runSeeds(t, append(seeds, seed{
		name:   "the function in the part on Helm",
		object: seedPod("", "containers: [{name: a, securityContext: {capabilities: {drop: [all]}}}, {name: b}]"),
		policies: ofPods("drop", "validate:\n  failureAction: Enforce\n  message: Drop all.\n  foreach:\n"+
			"  - list: request.object.spec.containers\n    deny: {conditions: {all: [{key: ALL, operator: AnyNotIn, value: "+
			"\"{{ element.securityContext.capabilities.drop[].to_upper(@) || `[]` }}\"}]}}"),
		want: []string{"drop fail blocks /spec/containers/1/securityContext/capabilities/drop: validation failure: Drop all."},
	}))
}

func TestSeedImages(t *testing.T) {
	const digest = "sha256:5f44022eab9198d75939d9eaa5341bc077eca16fa51d4ef32d33f1bd4c8cbe7d"
	object := seedPod("", "containers: [{name: nginx, image: 'nginx@"+digest+
		"'}, {name: web, image: nginx}], initContainers: [{name: vault, image: 'ghcr.io/vault:v3'}], ephemeralContainers: "+
		"[{name: debug, image: 'localhost:5000/tools/debug:1'}], imagePullSecrets: [{name: one}, {name: two}]")
	var seeds []seed
	for expression, want := range map[string]string{
		"images.containers.nginx.registry":                   "docker.io",
		"images.containers.nginx.name":                       "nginx",
		"images.containers.nginx.digest":                     digest,
		"images.containers.web.tag":                          "latest",
		"images.containers.web.registry":                     "docker.io",
		"images.initContainers.vault.registry":               "ghcr.io",
		"images.initContainers.vault.path":                   "vault",
		"images.initContainers.vault.name":                   "vault",
		"images.initContainers.vault.tag":                    "v3",
		"images.initContainers.vault.reference":              "ghcr.io/vault:v3",
		"images.ephemeralContainers.debug.registry":          "localhost:5000",
		"images.ephemeralContainers.debug.path":              "tools/debug",
		"images.containers.nginx.reference":                  "docker.io/nginx@" + digest,
		"images.containers.*.name | sort(@) | [0]":           "nginx",
		"length(images.containers.*.name)":                   "2",
		"images.containers.web.digest || 'no digest'":        "no digest",
		"images.containers.web.imagePullSecrets[1]":          "two",
		"length(images.containers.web.imagePullSecrets[2:])": "0",
	} {
		// The whole string is the variable, so its type stays: a longer one makes all of them text.
		seeds = append(seeds, seed{name: expression, object: object, want: []string{"image pass"}, text: `"a":"is ` + want +
			`"`,
			policies: ofPods("image", "mutate:\n  patchStrategicMerge:\n    metadata:\n      annotations:\n        a: \"is {{ "+
				expression+" }}\"")})
	}
	runSeeds(t, seeds)
}

func TestSeedInlineVariables(t *testing.T) {
	with := func(context, value string) string {
		return ofPods("inline", "context:\n"+strings.Trim(context, "\n")+
			"\nmutate:\n  patchStrategicMerge:\n    metadata:\n      annotations:\n        a: \""+value+"\"")
	}
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: resource-annotater-reference, namespace: default}\n" +
		"data: {web: found}"
	nested := ofPods("inline", `
context:
- name: LabelsCM
  configMap:
    name: resource-annotater-reference
    namespace: default
mutate:
  patchStrategicMerge:
    metadata:
      annotations:
        a: "{{LabelsCM.data.{{ request.object.metadata.labels.app }}}}"
`)
	seeds := []seed{
		{name: "value", policies: with("- name: foodata\n  variable:\n    value: \"foo\"", "{{ foodata }}"),
			text: `"a":"foo"`},
		{name: "jmesPath without a value", policies: with("- name: objName\n  variable:\n"+
			"    jmesPath: request.object.metadata.name", "{{ objName }}"), text: `"a":"p"`},
		{name: "nested object with a default and a path", policies: with(`
- name: nested-metadata
  variable:
    value:
      metadata:
        labels:
          name: "{{ request.object.metadata.name }}"
    default: '{}'
    jmesPath: 'to_string(@)'
`, `{{ \"nested-metadata\" }}`), text: `"a":"{\"metadata\":{\"labels\":{\"name\":\"p\"}}}"`},
		{name: "default", policies: with("- name: x\n  variable:\n    jmesPath: request.object.spec.nothing\n"+
			"    default: '{{ request.object.metadata.name }}'", "{{ x }}"), text: `"a":"p"`},
		{name: "a variable in an expression", policies: with(`
- name: jpExpression
  variable:
    value: name
- name: objName
  variable:
    value:
      name: "{{ request.object.metadata.name }}"
    jmesPath: "{{ jpExpression }}"
`, "{{ objName }}"), text: `"a":"p"`},
		{name: "the last definition counts", policies: with("- name: x\n  variable: {value: one}\n- name: x\n"+
			"  variable: {value: two}", "{{ x }}"), text: `"a":"two"`},
		{name: "nested look-up", policies: nested, cluster: cm, text: `"a":"found"`},
	}
	for i := range seeds {
		seeds[i].object, seeds[i].want = seedPod(", labels: {app: web}", ""), []string{"inline pass"}
	}
	runSeeds(t, append(seeds,
		seed{name: "a ConfigMap that nobody declares", policies: nested, object: seedPod(", labels: {app: web}", ""),
			want: []string{"inline unknown blocks "}},
		seed{name: "a key that is not there", policies: with("- name: x\n  variable:\n"+
			"    jmesPath: request.object.spec.nothing", "{{ x }}"), object: seedPod("", ""),
			want: []string{"inline error blocks "}},
	))
}

// A value that holds the braces of another language is substituted once where the variable has a dash.
func TestSeedShallowSubstitution(t *testing.T) {
	with := func(variable string) string {
		return clusterPolicy("vault-auth-backend", `
background: true
rules:
- name: vault-injector-config-blue-to-green-auth-backend
  context:
  - name: hcl
    variable:
      jmesPath: replace_all( '{{ request.object.data.config }}', 'from_string','to_string')
  match:
    any:
    - resources:
        kinds:
        - ConfigMap
        names:
        - vault-*
        namespaces:
        - corp-tech-ap-team-ping-ep
  mutate:
    patchStrategicMerge:
      data:
        config: '`+variable+`'
  name: vault-injector-config-blue-to-green-auth-backend
`)
	}
	const config = `
apiVersion: v1
data:
  config: |-
    from_string
    {{ some hcl tempalte }}
kind: ConfigMap
metadata:
  name: vault-injector-config-http-echo
  namespace: corp-tech-ap-team-ping-ep
`
	const rule = "vault-injector-config-blue-to-green-auth-backend "
	runSeeds(t, []seed{
		{name: "shallow", policies: with("{{- hcl }}"), object: config, want: []string{rule + "pass"},
			text: `"config":"to_string\n{{ some hcl tempalte }}`},
		{name: "shallow in a longer text", policies: with("{{- hcl }} end"), object: config, want: []string{rule + "pass"},
			text: `{{ some hcl tempalte }} end`},
		{name: "deep in a longer text", policies: with("{{ hcl }} end"), object: config,
			want: []string{rule + "error blocks "}},
	})
}

func TestSeedEvaluationOrder(t *testing.T) {
	tests := []struct{ name, rule, want string }{
		{"a later variable", "- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  context:\n  - name: a\n" +
			"    variable: {value: '{{ b }}'}\n  - name: b\n    variable: {value: x}\n  validate: {deny: {}}",
			`p.yaml:10:26: the variable "b" is not defined here: add it to the context, before its first use`},
		{"a variable in match", "- name: r\n  match:\n    any:\n    - resources:\n        kinds: [Pod]\n        names:\n" +
			"        - '{{ request.object.metadata.name }}'\n  validate: {deny: {}}",
			"p.yaml:12:13: variables are not resolved in match and exclude: move the condition to preconditions"},
		{"a variable in the path of a patch", "- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  mutate:\n" +
			"    patchesJson6902: |-\n      - op: add\n        path: /metadata/labels/{{ request.object.metadata.name }}\n" +
			"        value: x",
			"p.yaml:11: variables are not resolved in the path of a JSON patch: use foreach or patchStrategicMerge"},
		{"a variable that nobody defines", "- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  validate:\n" +
			"    message: |\n      Hello,\n      {{ requst.name }}\n    foreach:\n" +
			"    - {list: request.object.spec.containers, deny: {}}",
			`p.yaml:11: the variable "requst" is not defined here: did you mean "request"?`},
		{"an element in the message", "- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  validate:\n" +
			"    message: '{{ element.name }}'\n    foreach: [{list: request.object.spec.containers, deny: {}}]",
			`p.yaml:9:17: the variable "element" is not defined here: it exists inside of foreach only`},
		{"an element outside of foreach", "- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  validate:\n" +
			"    deny: {conditions: {all: [{key: '{{ element.name }}', operator: Equals, value: x}]}}",
			`p.yaml:9:40: the variable "element" is not defined here: it exists inside of foreach only`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml",
				Documents: yamltest.Documents(clusterPolicy("p", "rules:\n"+tt.rule))}}, engine.Options{})
			if len(problems) != 1 || problems[0].String() != tt.want {
				t.Errorf("got %v, want %s", problems, tt.want)
			}
		})
	}
}
