package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

func TestSeedPolicyException(t *testing.T) {
	const hosts = `
apiVersion: kyverno.io/v2beta1
kind: ClusterPolicy
metadata:
  name: disallow-host-namespaces
spec:
  validationFailureAction: Enforce
  background: false
  rules:
    - name: host-namespaces
      match:
        any:
        - resources:
            kinds:
              - Pod
      validate:
        message: >-
          Sharing the host namespaces is disallowed. The fields spec.hostNetwork,
          spec.hostIPC, and spec.hostPID must be unset or set to ` + "`false`" + `.
        pattern:
          spec:
            =(hostPID): "false"
            =(hostIPC): "false"
            =(hostNetwork): "false"
`
	const delta = `
apiVersion: kyverno.io/v2beta1
kind: PolicyException
metadata:
  name: delta-exception
  namespace: delta
spec:
  exceptions:
  - policyName: disallow-host-namespaces
    ruleNames:
    - host-namespaces
    - autogen-host-namespaces
  match:
    any:
    - resources:
        kinds:
        - Pod
        - Deployment
        namespaces:
        - delta
        names:
        - important-tool*
  conditions:
    any:
    - key: "{{ request.object.metadata.labels.app || '' }}"
      operator: Equals
      value: busybox
`
	const tool = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: important-tool
  namespace: delta
  labels:
    app: busybox
spec:
  replicas: 1
  selector: {matchLabels: {app: busybox}}
  template:
    metadata: {labels: {app: busybox}}
    spec:
      hostIPC: true
      containers:
      - image: busybox:1.35
        name: busybox
        command: ["sleep", "1d"]
`
	const fail = "autogen-host-namespaces fail blocks /spec/template/spec/hostIPC: validation error: Sharing the host " +
		"namespaces is disallowed. The fields spec.hostNetwork, spec.hostIPC, and spec.hostPID must be unset or set to " +
		"`false`. rule autogen-host-namespaces failed at path /spec/template/spec/hostIPC/"
	const skip = "autogen-host-namespaces skip by delta-exception: rule is skipped due to policy exceptions " +
		"delta/delta-exception"
	changed := func(old, now string) string { return strings.Replace(tool, old, now, 1) }
	namespaced := strings.NewReplacer("kind: ClusterPolicy", "kind: Policy", "name: disallow-host-namespaces",
		"name: disallow-host-namespaces\n  namespace: delta").Replace(hosts)
	runSeeds(t, []seed{
		{name: "without an exception", policies: hosts, object: tool, want: []string{fail}},
		{name: "excepted", policies: hosts, exceptions: delta, object: tool, want: []string{skip}},
		{name: "a name that begins the same", policies: hosts, exceptions: delta,
			object: changed("name: important-tool", "name: important-tool-2"), want: []string{skip}},
		{name: "a pod", policies: hosts, exceptions: delta,
			object: "apiVersion: v1\nkind: Pod\nmetadata: {name: important-tool, namespace: delta, labels: {app: busybox}}\n" +
				"spec: {hostIPC: true, containers: [{name: a}]}",
			want: []string{"host-namespaces skip by delta-exception"}},
		{name: "another name", policies: hosts, exceptions: delta,
			object: changed("name: important-tool", "name: other-tool"), want: []string{fail}},
		{name: "another namespace", policies: hosts, exceptions: delta,
			object: changed("namespace: delta", "namespace: gamma"), want: []string{fail}},
		{name: "another kind", policies: hosts, exceptions: delta, object: changed("kind: Deployment", "kind: StatefulSet"),
			want: []string{fail}},
		{name: "the condition is not met", policies: hosts, exceptions: delta,
			object: changed("    app: busybox\nspec", "    app: nginx\nspec"), want: []string{fail}},
		{name: "without the label of the condition", policies: hosts, exceptions: delta,
			object: changed("  labels:\n    app: busybox\nspec", "spec"), want: []string{fail}},
		{name: "any rule", policies: hosts, exceptions: strings.Replace(delta,
			"- host-namespaces\n    - autogen-host-namespaces", `- "*"`, 1), object: tool, want: []string{skip}},
		{name: "only the rule on pods", policies: hosts, exceptions: strings.Replace(delta, "    - autogen-host-namespaces\n",
			"", 1), object: tool, want: []string{fail}},
		{name: "a policy of a namespace is not meant", policies: namespaced, exceptions: delta, object: tool,
			want: []string{fail}},
		{name: "a policy of a namespace", policies: namespaced, exceptions: strings.Replace(delta, "policyName: ",
			"policyName: delta/", 1), object: tool, want: []string{skip}},
		{name: "the cluster's policy is not meant", policies: hosts, exceptions: strings.Replace(delta, "policyName: ",
			"policyName: team-a/", 1), object: tool, want: []string{fail}},
	})

	// In background scans nobody makes a request, so users cannot be asked for.
	for what, want := range map[string]int{"background: true": 1, "background: false": 0, "background: null": 1} {
		data := strings.Replace(delta, "spec:\n", "spec:\n  "+what+"\n", 1)
		data = strings.Replace(data, "    - resources:\n", "    - clusterRoles: [admin]\n      resources:\n", 1)
		_, problems := engine.CompileExceptions([]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(data)}},
			engine.Options{})
		if len(problems) != want {
			t.Errorf("%s: got %v", what, problems)
		}
	}
}

func TestSeedPolicyForExceptions(t *testing.T) {
	data := clusterPolicy("policy-for-exceptions", `
validationFailureAction: Enforce
background: false
rules:
- name: require-match-name
  match:
    any:
    - resources:
        kinds:
        - PolicyException
  validate:
    message: >-
      An exception must explicitly specify a name for a resource match.
    pattern:
      spec:
        match:
          =(any):
          - resources:
              names: "?*"
          =(all):
          - resources:
              names: "?*"
`)
	exception := func(match string) string {
		return "apiVersion: kyverno.io/v2beta1\nkind: PolicyException\nmetadata: {name: x, namespace: delta}\n" +
			"spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {" + match + "}}"
	}
	const failed = ": validation error: An exception must explicitly specify a name for a resource match. rule " +
		"require-match-name failed at path /spec/match/"
	runSeeds(t, []seed{
		{name: "any with a name", policies: data, object: exception("any: [{resources: {kinds: [Pod], names: [tool]}}]"),
			want: []string{"require-match-name pass"}},
		{name: "all with a name", policies: data, object: exception("all: [{resources: {kinds: [Pod], names: [tool]}}]"),
			want: []string{"require-match-name pass"}},
		{name: "any without a name", policies: data, object: exception("any: [{resources: {kinds: [Pod]}}]"),
			want: []string{"require-match-name fail blocks /spec/match/any/0/resources/names" + failed +
				"any/0/resources/names/"}},
		{name: "one of two", policies: data, object: exception("all: [{resources: {names: [tool]}}, {resources: {kinds: " +
			"[Pod]}}]"), want: []string{"require-match-name fail blocks /spec/match/all/1/resources/names" + failed +
			"all/1/resources/names/"}},
	})
}

func psa(level string) string {
	return clusterPolicy("psa", `
background: true
validationFailureAction: Enforce
rules:
- name: `+level+`
  match:
    any:
    - resources:
        kinds:
        - Pod
  validate:
    podSecurity:
      level: `+level+`
      version: latest
`)
}

func psaException(rule, match, controls string) string {
	return `
apiVersion: kyverno.io/v2beta1
kind: PolicyException
metadata:
  name: pod-security-exception
  namespace: policy-exception-ns
spec:
  exceptions:
  - policyName: psa
    ruleNames:
    - ` + rule + `
  match:
    any:
    - resources: {` + match + `}
  podSecurity:
    ` + indentBy(4, controls)
}

func TestSeedPodSecurityExemptions(t *testing.T) {
	nonRoot := psaException("restricted", "namespaces: [delta]", `- controlName: "Running as Non-root"`)
	byImage := psaException("restricted", "namespaces: [delta]", `
- controlName: Capabilities
  images:
      - nginx*
      - redis*
`)
	in := func(namespace, spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: nginx-pod, namespace: " + namespace + "}\nspec: {" + spec + "}"
	}
	const safe = "seccompProfile: {type: RuntimeDefault}, allowPrivilegeEscalation: false"
	const drop = ", capabilities: {drop: [ALL]}"
	container := func(name, image, context string) string {
		return "{name: " + name + ", image: '" + image + "', args: [sleep, 1d], securityContext: {" + context + "}}"
	}
	podLevel := in("delta", "securityContext: {runAsNonRoot: false}, containers: ["+container("nginx", "nginx", safe+drop)+
		"]")
	ofContainer := in("delta", "containers: ["+container("nginx", "nginx", safe+drop+", runAsNonRoot: false")+"]")
	images := func(second string) string {
		return in("delta", "containers: ["+container("a", "nginx:1", safe+", runAsNonRoot: true")+", "+container("b", second,
			safe+", runAsNonRoot: true")+"]")
	}
	runSeeds(t, []seed{
		{name: "restricted", policies: psa("restricted"),
			object: in("delta", "containers: ["+container("nginx", "nginx", safe+drop+", runAsNonRoot: true")+"]"),
			want:   []string{"restricted pass"}},
		{name: "runs as root", policies: psa("restricted"), object: ofContainer,
			want: []string{"restricted fail blocks /spec/containers/0/securityContext/runAsNonRoot: Validation rule " +
				"'restricted' failed. It violates PodSecurity \"restricted:latest\":..."}},
		{name: "runs as root, exempted", policies: psa("restricted"), exceptions: nonRoot, object: podLevel,
			want: []string{"restricted skip by pod-security-exception"}},
		{name: "a container runs as root, as in the document", policies: psa("restricted"), exceptions: nonRoot,
			object: ofContainer, want: []string{"restricted skip by pod-security-exception"}},
		{name: "runs as root elsewhere", policies: psa("restricted"), exceptions: nonRoot,
			object: strings.Replace(podLevel, "namespace: delta", "namespace: gamma", 1),
			want: []string{"restricted fail blocks /spec/containers/0/securityContext/runAsNonRoot " +
				"/spec/securityContext/runAsNonRoot"}},
		{name: "keeps capabilities", policies: psa("restricted"), object: images("redis:7"),
			want: []string{"restricted fail blocks /spec/containers/0/securityContext/capabilities/drop " +
				"/spec/containers/1/securityContext/capabilities/drop"}},
		{name: "keeps capabilities, images exempted", policies: psa("restricted"), exceptions: byImage,
			object: images("redis:7"), want: []string{"restricted skip by pod-security-exception"}},
		{name: "keeps capabilities, one image is not exempted", policies: psa("restricted"), exceptions: byImage,
			object: images("busybox"), want: []string{"restricted fail blocks " +
				"/spec/containers/1/securityContext/capabilities/drop"}},
	})
}

// A service mesh's init container may change the network and nothing else.
func TestSeedPodSecurityOfServiceMeshes(t *testing.T) {
	mesh := psaException("baseline", "kinds: [Pod]", `
- controlName: Capabilities
  images:
    - "*/istio/proxyv2*"
    - "*/linkerd/proxy-init*"
  restrictedField: spec.initContainers[*].securityContext.capabilities.add
  values:
    - NET_ADMIN
    - NET_RAW
`)
	istio := func(image, add string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {name: istio-pod, namespace: default}
spec:
  initContainers:
  - name: istio-init
    image: ` + image + `
    args: [istio-iptables, -p, "15001", -z, "15006", -u, "1337", -m, REDIRECT, -i, '*', -x, "", -b, '*', -d, "15090,15021,15020", "--log_output_level=default:info"]
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {add: [` + add + `], drop: [ALL]}
      privileged: false
      readOnlyRootFilesystem: false
      runAsGroup: 0
      runAsNonRoot: false
      runAsUser: 0
  containers:
  - {name: busybox, image: "busybox:1.35", args: [sleep, infinity]}
`
	}
	const proxy, linkerd = "docker.io/istio/proxyv2:1.20.2", "cr.l5d.io/linkerd/proxy-init:v2"
	const add = "/spec/initContainers/0/securityContext/capabilities/add"
	policies := psa("baseline")
	runSeeds(t, []seed{
		{name: "without an exception", policies: policies, object: istio(proxy, "NET_ADMIN, NET_RAW"),
			want: []string{"baseline fail blocks " + add + "/0 " + add + "/1"}},
		{name: "Istio", policies: policies, exceptions: mesh, object: istio(proxy, "NET_ADMIN, NET_RAW"),
			want: []string{"baseline skip by pod-security-exception"}},
		{name: "Linkerd", policies: policies, exceptions: mesh, object: istio(linkerd, "NET_ADMIN, NET_RAW"),
			want: []string{"baseline skip by pod-security-exception"}},
		{name: "a capability that is not listed", policies: policies, exceptions: mesh,
			object: istio(proxy, "NET_ADMIN, NET_RAW, SYS_ADMIN"), want: []string{"baseline fail blocks *"}},
		{name: "another image", policies: policies, exceptions: mesh, object: istio("docker.io/x/proxyv2:1", "NET_ADMIN"),
			want: []string{"baseline fail blocks " + add + "/0"}},
	})
}
