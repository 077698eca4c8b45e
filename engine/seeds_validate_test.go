package engine_test

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
)

const (
	purposePolicy = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: require-ns-purpose-label
spec:
  # The value tells if the resource should be allowed but reported (audit) or blocked (enforce).
  validationFailureAction: enforce
  rules:
  - name: require-ns-purpose-label
    match:
      any:
      - resources:
          kinds:
          - Namespace
    validate:
      message: "You must have label ` + "`purpose` with value `production`" + ` set on all new namespaces."
      pattern:
        metadata:
          labels:
            purpose: production
`
	purposeFailed = ": validation error: You must have label `purpose` with value `production` set on all new " +
		"namespaces. rule require-ns-purpose-label failed at path "
)

func namespace(labels string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod-bus-app1" + labels + "}"
}

// seedPod is a Pod in the namespace default; spec is written in flow style.
func seedPod(metadata, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default" + metadata + "}\nspec: {" + spec + "}"
}

func TestSeedBasicValidation(t *testing.T) {
	dev, prod := namespace(", labels: {purpose: development}"), namespace(", labels: {purpose: production}")
	runSeeds(t, []seed{
		{name: "allowed", policies: purposePolicy, object: prod, want: []string{"require-ns-purpose-label pass"}},
		{name: "blocked by its value", policies: purposePolicy, object: dev,
			want: []string{"require-ns-purpose-label fail blocks /metadata/labels/purpose" + purposeFailed +
				"/metadata/labels/purpose/"}},
		{name: "blocked without labels", policies: purposePolicy, object: namespace(""),
			want: []string{"require-ns-purpose-label fail blocks /metadata/labels" + purposeFailed + "/metadata/labels/"}},
		{name: "what violated before may go on", policies: purposePolicy, old: dev,
			object: namespace(", labels: {purpose: development, a: b}"),
			want:   []string{"require-ns-purpose-label fail /metadata/labels/purpose"}},
		{name: "what was mended may not be broken again", policies: purposePolicy, old: prod, object: dev,
			want: []string{"require-ns-purpose-label fail blocks /metadata/labels/purpose"}},
	})
}

func TestSeedFailureActionOverrides(t *testing.T) {
	data := clusterPolicy("check-label-app", `
validationFailureAction: audit
validationFailureActionOverrides:
  - action: enforce     # Action to apply
    namespaces:       # List of affected namespaces
      - default
  - action: audit
    namespaces:
      - test
rules:
  - name: check-label-app
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "The label `+"`app`"+` is required."
      pattern: {metadata: {labels: {app: "?*"}}}
`)
	in := func(namespace string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: " + namespace + ", labels: {app: ''}}\nspec: {}"
	}
	const at = " /metadata/labels/app: validation error: The label `app` is required. rule check-label-app failed at " +
		"path /metadata/labels/app/"
	runSeeds(t, []seed{
		{name: "enforced in default", policies: data, object: in("default"),
			want: []string{"check-label-app fail blocks" + at}},
		{name: "audited in test", policies: data, object: in("test"), want: []string{"check-label-app fail" + at}},
		{name: "else as the policy says", policies: data, object: in("prod"), want: []string{"check-label-app fail" + at}},
		{name: "labeled", policies: data, object: seedPod(", labels: {app: x}", ""), want: []string{"check-label-app pass"}},
	})
}

func TestSeedWildcards(t *testing.T) {
	resources := clusterPolicy("all-containers-need-requests-and-limits", `
validationFailureAction: enforce
rules:
- name: check-container-resources
  match: {any: [{resources: {kinds: [Pod]}}]}
  validate:
    message: "All containers must have CPU and memory resource requests and limits defined."
    pattern:
      spec:
        containers:
        - name: "*"
          resources:
            limits:
              memory: "?*"
            requests:
              memory: "?*"
              cpu: "?*"
`)
	labels := clusterPolicy("check-label-app", `
validationFailureAction: enforce
rules:
  - name: check-label-app
    match: {any: [{resources: {kinds: [Deployment, StatefulSet, DaemonSet]}}]}
    validate:
      message: "The label `+"`app`"+` is required."
      pattern: {spec: {template: {metadata: {labels: {app: "?*"}}}}}
`)
	replicas := clusterPolicy("validate", `
validationFailureAction: enforce
rules:
  - name: validate-replica-count
    match: {any: [{resources: {kinds: [Deployment]}}]}
    validate:
      message: "Replica count for a Deployment must be greater than or equal to 2."
      pattern: {spec: {replicas: ">=2"}}
`)
	deployment := func(spec string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: default}\nspec: {" + spec + "}"
	}
	const full = "{name: a, resources: {limits: {memory: 1Gi}, requests: {memory: 1Gi, cpu: 100m}}}"
	const failed = ": validation error: All containers must have CPU and memory resource requests and limits defined. " +
		"rule check-container-resources failed at path /spec/containers/1/resources/"
	runSeeds(t, []seed{
		{name: "all have resources", policies: resources, object: seedPod("", "containers: ["+full+"]"),
			want: []string{"check-container-resources pass"}},
		{name: "one has no CPU request", policies: resources,
			object: seedPod("", "containers: ["+full+
				", {name: b, resources: {limits: {memory: 1Gi}, requests: {memory: 1Gi}}}]"),
			want: []string{"check-container-resources fail blocks /spec/containers/1/resources/requests/cpu" + failed +
				"requests/cpu/"}},
		{name: "one has an empty limit", policies: resources,
			object: seedPod("", "containers: ["+full+", {name: b, resources: {limits: {memory: ''}, requests: {memory: 1Gi, "+
				"cpu: 1}}}]"),
			want: []string{"check-container-resources fail blocks /spec/containers/1/resources/limits/memory" + failed +
				"limits/memory/"}},
		{name: "a label of the template", policies: labels, object: deployment("template: {metadata: {labels: {app: x}}}"),
			want: []string{"check-label-app pass"}},
		{name: "another label of the template", policies: labels,
			object: deployment("template: {metadata: {labels: {team: x}}}"),
			want: []string{"check-label-app fail blocks /spec/template/metadata/labels/app: validation error: The label " +
				"`app` is required. rule check-label-app failed at path /spec/template/metadata/labels/app/"}},
		{name: "enough replicas", policies: replicas, object: deployment("replicas: 2"),
			want: []string{"validate-replica-count pass"}},
		{name: "too few replicas", policies: replicas, object: deployment("replicas: 1"),
			want: []string{"validate-replica-count fail blocks /spec/replicas: validation error: Replica count for a " +
				"Deployment must be greater than or equal to 2. rule validate-replica-count failed at path /spec/replicas/"}},
	})
}

func TestSeedAnchors(t *testing.T) {
	rule := func(name, message, pattern string) string {
		return clusterPolicy(name, `
validationFailureAction: enforce
background: false
rules:
- name: `+name+`
  match: {any: [{resources: {kinds: [Pod]}}]}
  validate:
    message: "`+message+`"
    pattern:
      `+indentBy(6, pattern))
	}
	conditional := rule("conditional-anchor-dockersock",
		"If a hostPath volume exists and is set to `/var/run/docker.sock`, the label `allow-docker` must equal `true`.", `
metadata:
  labels:
    allow-docker: "true"
(spec):
  (volumes):
  - (hostPath):
      path: "/var/run/docker.sock"
`)
	equality := rule("equality-anchor-no-dockersock",
		"If a hostPath volume exists, it must not be set to `/var/run/docker.sock`.", `
=(spec):
  =(volumes):
  - =(hostPath):
      path: "!/var/run/docker.sock"
`)
	existence := rule("existence-anchor-at-least-one-nginx", "At least one container must use the image `nginx:latest`.", `
spec:
  ^(containers):
    - image: nginx:latest
`)
	every := rule("every-nginx", "Each container must use the image `nginx:latest`.", `
spec:
  containers:
  - name: "*"
    image: nginx:latest
`)
	global := rule("check-container-image", "Images coming from corp.reg.com must use the correct imagePullSecret.", `
spec:
  containers:
  - name: "*"
    <(image): "corp.reg.com/*"
  imagePullSecrets:
  - name: my-registry-secret
`)
	const sock = "containers: [{name: a}], volumes: [{name: v, hostPath: {path: /var/run/docker.sock}}]"
	const tmp = "containers: [{name: a}], volumes: [{name: v, hostPath: {path: /tmp}}]"
	const web = "{name: web, image: corp.reg.com/nginx, ports: [{name: web, containerPort: 80, protocol: TCP}]}"
	runSeeds(t, []seed{
		{name: "conditional: the socket with the label", policies: conditional,
			object: seedPod(", labels: {allow-docker: 'true'}", sock), want: []string{"conditional-anchor-dockersock pass"}},
		{name: "conditional: the socket with another value", policies: conditional,
			object: seedPod(", labels: {allow-docker: 'false'}", sock),
			want: []string{"conditional-anchor-dockersock fail blocks /metadata/labels/allow-docker: validation error: If a " +
				"hostPath volume exists and is set to `/var/run/docker.sock`, the label `allow-docker` must equal `true`. rule " +
				"conditional-anchor-dockersock failed at path /metadata/labels/allow-docker/"}},
		{name: "conditional: another path", policies: conditional, object: seedPod("", tmp),
			want: []string{"conditional-anchor-dockersock skip"}},
		{name: "equality: the socket", policies: equality, object: seedPod("", sock),
			want: []string{"equality-anchor-no-dockersock fail blocks /spec/volumes/0/hostPath/path: validation error: If a " +
				"hostPath volume exists, it must not be set to `/var/run/docker.sock`. rule equality-anchor-no-dockersock failed " +
				"at path /spec/volumes/0/hostPath/path/"}},
		{name: "equality: another path", policies: equality, object: seedPod("", tmp),
			want: []string{"equality-anchor-no-dockersock pass"}},
		{name: "equality: no volumes", policies: equality, object: seedPod("", "containers: [{name: a}]"),
			want: []string{"equality-anchor-no-dockersock pass"}},
		{name: "equality: another kind of volume", policies: equality,
			object: seedPod("", "containers: [{name: a}], volumes: [{name: v, emptyDir: {}}]"),
			want:   []string{"equality-anchor-no-dockersock pass"}},
		{name: "existence: one of two", policies: existence,
			object: seedPod("", "containers: [{name: a, image: busybox}, {name: b, image: 'nginx:latest'}]"),
			want:   []string{"existence-anchor-at-least-one-nginx pass"}},
		{name: "existence: none", policies: existence,
			object: seedPod("", "containers: [{name: a, image: busybox}, {name: b, image: 'nginx:1'}]"),
			want: []string{"existence-anchor-at-least-one-nginx fail blocks /spec/containers: validation error: At least " +
				"one container must use the image `nginx:latest`. rule existence-anchor-at-least-one-nginx failed at path " +
				"/spec/containers/"}},
		{name: "each: one of two", policies: every,
			object: seedPod("", "containers: [{name: a, image: busybox}, {name: b, image: 'nginx:latest'}]"),
			want:   []string{"every-nginx fail blocks /spec/containers/0/image"}},
		{name: "global: the wrong secret", policies: global, object: seedPod(", labels: {role: myrole}",
			"containers: ["+web+"], imagePullSecrets: [{name: other-secret}]"),
			want: []string{"check-container-image fail blocks /spec/imagePullSecrets/0/name: validation error: Images coming " +
				"from corp.reg.com must use the correct imagePullSecret. rule check-container-image failed at path " +
				"/spec/imagePullSecrets/0/name/"}},
		{name: "global: the right secret", policies: global,
			object: seedPod("", "containers: ["+web+"], imagePullSecrets: [{name: my-registry-secret}]"),
			want:   []string{"check-container-image pass"}},
		{name: "global: another registry", policies: global, object: seedPod("", "containers: [{name: web, image: nginx}]"),
			want: []string{"check-container-image skip"}},
	})
}

func TestSeedAnyPattern(t *testing.T) {
	nonRoot := clusterPolicy("require-run-as-non-root", `
background: true
validationFailureAction: enforce
rules:
- name: check-containers
  match: {any: [{resources: {kinds: [Pod]}}]}
  validate:
    message: >-
      Running as root is not allowed. The fields spec.securityContext.runAsNonRoot,
      spec.containers[*].securityContext.runAsNonRoot, and
      spec.initContainers[*].securityContext.runAsNonRoot must be `+"`true`"+`.
    anyPattern:
    - spec:
        securityContext:
          runAsNonRoot: true
        containers:
        - =(securityContext):
            =(runAsNonRoot): true
        =(initContainers):
        - =(securityContext):
            =(runAsNonRoot): true
    - spec:
        containers:
        - securityContext:
            runAsNonRoot: true
        =(initContainers):
        - securityContext:
            runAsNonRoot: true
`)
	flux := clusterPolicy("no-flux-v1", `
rules:
- name: flux
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  validate:
    failureAction: Enforce
    message: Cannot use Flux v1 annotation.
    anyPattern:
    - metadata:
        =(annotations):
          X(fluxcd.io/*): "*?"
    - metadata:
        =(annotations):
          X(flux.weave.works/*): "*?"
`)
	const yes, no = "securityContext: {runAsNonRoot: true}", "securityContext: {runAsNonRoot: false}"
	config := func(annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {" + annotations + "}}"
	}
	runSeeds(t, []seed{
		{name: "the pod says so", policies: nonRoot, object: seedPod("", yes+", containers: [{name: a}]"),
			want: []string{"check-containers pass: validation rule 'check-containers' anyPattern[0] passed."}},
		{name: "all containers say so", policies: nonRoot,
			object: seedPod("", "containers: [{name: a, "+yes+"}], initContainers: [{name: i, "+yes+"}]"),
			want:   []string{"check-containers pass: validation rule 'check-containers' anyPattern[1] passed."}},
		{name: "a container says otherwise", policies: nonRoot, object: seedPod("", yes+", containers: [{name: a, "+no+"}]"),
			want: []string{"check-containers fail blocks /spec/containers/0/securityContext/runAsNonRoot: validation error: " +
				"Running as root is not allowed. The fields spec.securityContext.runAsNonRoot, " +
				"spec.containers[*].securityContext.runAsNonRoot, and spec.initContainers[*].securityContext.runAsNonRoot must " +
				"be `true`. rule check-containers[0] failed at path /spec/containers/0/securityContext/runAsNonRoot/ rule " +
				"check-containers[1] failed at path /spec/containers/0/securityContext/runAsNonRoot/"}},
		{name: "neither annotation", policies: flux, object: config("a: b"), want: []string{"flux pass"}},
		{name: "one of them lets the other pattern pass", policies: flux, object: config("fluxcd.io/ignore: 'true'"),
			want: []string{"flux pass"}},
		{name: "both", policies: flux, object: config("fluxcd.io/ignore: 'true', flux.weave.works/automated: 'true'"),
			want: []string{"flux fail blocks /metadata/annotations/fluxcd.io~1ignore: validation error: Cannot use Flux v1 " +
				"annotation...."}},
	})
}

func TestSeedDeny(t *testing.T) {
	deletes := clusterPolicy("deny-deletes", `
validationFailureAction: enforce
background: false
rules:
- name: block-deletes-for-kyverno-resources
  match:
    any:
    - resources:
        selector:
          matchLabels:
            app.kubernetes.io/managed-by: kyverno
  exclude:
    any:
    - clusterRoles:
      - cluster-admin
  validate:
    message: "Deleting {{request.oldObject.kind}}/{{request.oldObject.metadata.name}} is not allowed"
    deny:
      conditions:
        any:
        - key: "{{request.operation}}"
          operator: Equals
          value: DELETE
`)
	custom := clusterPolicy("block-updates-to-custom-resource", `
validationFailureAction: enforce
background: false
rules:
- name: block-updates-to-custom-resource
  match:
    any:
    - resources:
        kinds:
        - SomeCustomResource
  exclude:
    any:
    - subjects:
      - kind: ServiceAccount
        name: custom-controller
    - clusterRoles:
      - custom-controller:*
      - cluster-admin
  validate:
    message: "Modifying or deleting this custom resource is forbidden."
    deny: {}
`)
	netpol := clusterPolicy("deny-netpol-changes", `
validationFailureAction: enforce
background: false
rules:
- name: deny-netpol-changes
  match:
    any:
    - resources:
        kinds:
        - NetworkPolicy
        name: "*-default"
  exclude:
    any:
    - clusterRoles:
      - cluster-admin
  validate:
    message: "Changing default network policies is not allowed."
    deny: {}
`)
	jane := admission.UserInfo{Username: "jane"}
	labeled := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, labels: " +
		"{app.kubernetes.io/managed-by: kyverno}}"
	resource := "apiVersion: example.com/v1\nkind: SomeCustomResource\nmetadata: {name: x, namespace: default}"
	policyNamed := func(name string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: " + name +
			", namespace: default}\nspec: {}"
	}
	const forbidden = `block-updates-to-custom-resource fail blocks : Modifying or deleting this custom resource is ` +
		`forbidden.`
	runSeeds(t, []seed{
		{name: "a delete", policies: deletes, old: labeled, user: jane,
			want: []string{"block-deletes-for-kyverno-resources fail blocks : Deleting ConfigMap/c is not allowed"}},
		{name: "a delete by an administrator", policies: deletes, old: labeled, user: jane, roles: []string{"cluster-admin"}},
		{name: "a delete of something else", policies: deletes, old: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}",
			user: jane},
		{name: "a create is fine", policies: deletes, object: labeled, user: jane,
			want: []string{"block-deletes-for-kyverno-resources pass"}},
		{name: "custom resource", policies: custom, object: resource, user: jane, want: []string{forbidden}},
		{name: "custom resource deleted", policies: custom, old: resource, user: jane, want: []string{forbidden}},
		{name: "custom resource by its controller's role, which no wildcard matches", policies: custom, object: resource, user: jane,
			roles: []string{"custom-controller:edit"}, want: []string{forbidden}},
		{name: "custom resource by an administrator", policies: custom, object: resource, user: jane,
			roles: []string{"cluster-admin"}},
		{name: "a service account needs its namespace to be excluded", policies: custom, object: resource,
			user: admission.UserInfo{Username: "system:serviceaccount:x:custom-controller"}, want: []string{forbidden}},
		{name: "default network policy", policies: netpol, object: policyNamed("team-default"), user: jane,
			want: []string{"deny-netpol-changes fail blocks : Changing default network policies is not allowed."}},
		{name: "other network policy", policies: netpol, object: policyNamed("team"), user: jane},
		{name: "default network policy by an administrator", policies: netpol, object: policyNamed("team-default"),
			user: jane, roles: []string{"cluster-admin"}},
	})
}

func TestSeedForEach(t *testing.T) {
	data := clusterPolicy("check-images", `
validationFailureAction: enforce
background: false
rules:
- name: check-registry
  match: {any: [{resources: {kinds: [Pod]}}]}
  preconditions:
    any:
    - key: "{{request.operation}}"
      operator: NotEquals
      value: DELETE
  validate:
    message: "unknown registry"
    foreach:
    - list: "request.object.spec.initContainers"
      pattern:
        image: "trusted-registry.io/*"
    - list: "request.object.spec.containers"
      pattern:
        image: "trusted-registry.io/*"
`)
	const good, bad = "{name: a, image: trusted-registry.io/a}", "{name: b, image: docker.io/b}"
	const message = ": validation failure: validation error: unknown registry. rule check-registry failed at path /image/"
	runSeeds(t, []seed{
		{name: "all trusted", policies: data, object: seedPod("", "initContainers: ["+good+"], containers: ["+good+"]"),
			want: []string{"check-registry pass"}},
		{name: "one container", policies: data, object: seedPod("", "containers: ["+good+", "+bad+"]"),
			want: []string{"check-registry fail blocks /spec/containers/1/image" + message}},
		{name: "both lists", policies: data, object: seedPod("", "initContainers: ["+bad+"], containers: ["+bad+"]"),
			want: []string{"check-registry fail blocks /spec/initContainers/0/image /spec/containers/0/image" + message}},
		{name: "a delete is skipped", policies: data, old: seedPod("", "containers: ["+bad+"]"),
			want: []string{"check-registry skip: preconditions not met"}},
	})
}
