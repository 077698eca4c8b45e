package cel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// object reads YAML with numbers as objects have them.
func object(t testing.TB, text string) admission.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func document(t testing.TB, text string) policy.Document {
	t.Helper()
	docs, problems := policy.Documents(policy.Source{Path: "p.yaml", Documents: yamltest.Documents(text)})
	if len(problems) > 0 || len(docs) != 1 {
		t.Fatalf("%d documents, problems %v", len(docs), problems)
	}
	return docs[0]
}

func compileVP(t testing.TB, text string) (*Policy, []policy.Problem) {
	t.Helper()
	doc := document(t, text)
	var p policy.ValidatingPolicy
	if problems := policy.Decode(doc, &p); len(problems) > 0 {
		t.Fatal(problems)
	}
	return CompileValidatingPolicy(doc, p)
}

func mustVP(t testing.TB, text string) *Policy {
	t.Helper()
	p, problems := compileVP(t, text)
	if p == nil || len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return p
}

// podPolicy is a policy on pods with the given spec fields.
func podPolicy(spec string) string {
	return `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
` + spec
}

// elsewhere is a policy of the API server's group, whose expressions may use more.
func elsewhere(policy string) string {
	return strings.Replace(policy, "policies.kyverno.io", "admissionregistration.k8s.io", 1)
}

// ofMutations is a policy of a kind whose expressions may use images.
func ofMutations(policy string) string {
	return strings.Replace(policy, "ValidatingPolicy", "MutatingPolicy", 1)
}

func validates(e string) string {
	data, _ := json.Marshal(e)
	return "  validations:\n  - {message: denied, expression: " + string(data) + "}\n"
}

func exceptionOf(t testing.TB, name, spec string) *Exception {
	t.Helper()
	doc := document(t, "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: "+name+
		"}\nspec:\n  policyRefs: [{name: p, kind: ValidatingPolicy}]\n"+spec)
	var e policy.CELException
	if problems := policy.Decode(doc, &e); len(problems) > 0 {
		t.Fatal(problems)
	}
	out, problems := CompileException(doc, e)
	if out == nil {
		t.Fatal(problems)
	}
	return out
}

const twoContainers = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: prod, labels: {app: web}}
spec:
  hostNetwork: true
  containers:
  - {name: a, image: "nginx:1.25", securityContext: {privileged: true, capabilities: {add: [NET_RAW, CHOWN]}}}
  - {name: b, image: ghcr.io/x/y@sha256:0123456789012345678901234567890123456789012345678901234567890123, securityContext: {privileged: false}}
  initContainers:
  - {name: c, image: busybox, securityContext: {privileged: true}}
  volumes:
  - {name: v, hostPath: {path: /}}
  - {name: w, emptyDir: {}}
`

func TestFields(t *testing.T) {
	for name, tt := range map[string]struct {
		spec string
		want []string
	}{
		"all": {validates("object.spec.containers.all(c, !c.securityContext.privileged)"),
			[]string{"/spec/containers/0/securityContext/privileged"}},
		"both sides": {validates("object.spec.hostNetwork == false && object.metadata.labels['app'] == 'x'"),
			[]string{"/metadata/labels/app", "/spec/hostNetwork"}},
		"one side": {validates("object.spec.hostNetwork == true && object.metadata.labels['app'] == 'x'"),
			[]string{"/metadata/labels/app"}},
		"guarded": {validates("!has(object.spec.hostNetwork) || object.spec.hostNetwork == false"),
			[]string{"/spec/hostNetwork"}},
		"bound": {validates("cel.bind(cs, object.spec.containers, cs.all(c, !c.securityContext.privileged))"),
			[]string{"/spec/containers/0/securityContext/privileged"}},
		"bound scalar": {validates("cel.bind(n, object.metadata.name, n == 'x')"), []string{"/metadata/name"}},
		"bound, error": {validates("cel.bind(m, object.metadata, m.labels['no'] == 'x')"),
			[]string{"/metadata/labels/no"}},
		"bound twice": {validates("cel.bind(s, object.spec, cel.bind(h, s.hostNetwork, !h))"),
			[]string{"/spec/hostNetwork"}},
		"missing":       {validates("has(object.metadata.annotations)"), []string{"/metadata/annotations"}},
		"missing error": {validates("object.metadata.annotations['a/b'] == 'x'"), []string{"/metadata/annotations"}},
		"missing key":   {validates("object.metadata.labels['a/b'] == 'x'"), []string{"/metadata/labels/a~1b"}},
		"in map":        {validates("'team' in object.metadata.labels"), []string{"/metadata/labels/team"}},
		"forbidden key": {validates("!('app' in object.metadata.labels)"), []string{"/metadata/labels/app"}},
		"optional":      {validates("object.spec.?hostNetwork.orValue(false) == false"), []string{"/spec/hostNetwork"}},
		"optional list": {validates("object.spec.containers.all(c, " +
			"c.?securityContext.?capabilities.?add.orValue([]).all(x, x in ['CHOWN']))"),
			[]string{"/spec/containers/0/securityContext/capabilities/add/0"}},
		"concatenation": {validates("(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, " +
			"c.securityContext.privileged == false)"), []string{"/spec/containers/0/securityContext/privileged",
			"/spec/initContainers/0/securityContext/privileged"}},
		"not exists": {validates("!object.spec.volumes.exists(v, has(v.hostPath))"),
			[]string{"/spec/volumes/0/hostPath"}},
		"exists": {validates("object.spec.containers.exists(c, c.name == 'sidecar')"),
			[]string{"/spec/containers"}},
		"alternatives": {validates("object.spec.volumes.all(v, has(v.emptyDir) || has(v.secret))"),
			[]string{"/spec/volumes/0"}},
		"ternary": {validates("object.metadata.name == 'web' ? object.spec.hostNetwork == false : true"),
			[]string{"/spec/hostNetwork"}},
		"filter": {validates("object.spec.containers.filter(c, c.name != 'a').all(c, c.image.startsWith('nginx'))"),
			[]string{"/spec/containers/1/image"}},
		"map": {validates("object.spec.containers.map(c, image(c.image)).all(i, i.registry() == 'ghcr.io')"),
			[]string{"/spec/containers/0/image"}},
		"variable": {"  variables:\n  - {name: ok, expression: 'has(object.metadata.labels) && " +
			"object.metadata.labels[\"app\"] == \"x\"'}\n" + validates("variables.ok == true"),
			[]string{"/metadata/labels/app"}},
		"list variable": {"  variables:\n  - {name: cs, expression: 'object.spec.containers + " +
			"object.spec.initContainers'}\n" + validates("variables.cs.all(c, !c.securityContext.privileged)"),
			[]string{"/spec/containers/0/securityContext/privileged", "/spec/initContainers/0/securityContext/privileged"}},
		"mapped variable": {"  variables:\n  - {name: is, expression: 'object.spec.containers.map(c, c.image)'}\n" +
			validates("variables.is.all(i, i.contains('@sha256:'))"), []string{"/spec/containers/0/image"}},
		"map keys":      {validates("object.metadata.labels.all(k, k.startsWith('x'))"), []string{"/metadata/labels/app"}},
		"nothing":       {validates("1 == 2"), []string{""}},
		"element error": {validates("object.spec.volumes.all(v, v.emptyDir == {})"), []string{"/spec/volumes/0/emptyDir"}},
		"second statement": {validates("true") + "  - {expression: 'object.spec.hostNetwork == false'}\n",
			[]string{"/spec/hostNetwork"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustVP(t, podPolicy(tt.spec))
			got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, twoContainers)},
				Env{})
			if len(got) != 1 || got[0].Outcome != Fail && got[0].Outcome != Error {
				t.Fatalf("%+v", got)
			}
			if diff := cmp.Diff(tt.want, got[0].Fields); diff != "" {
				t.Errorf("%s\n%s", got[0].Message, diff)
			}
		})
	}
}

// What Kyverno does not compile, it does not take: parts of the object for a bool or a text, and names that it does not have.
func TestRefusedExpressions(t *testing.T) {
	const any = "the expression returns a value of any type"
	variables := func(e string) string { return "  variables: [{name: x, expression: \"" + e + "\"}]\n" }
	for spec, want := range map[string]string{
		validates("object.spec.hostNetwork"):                                                          any,
		validates("object.spec.containers[0].stdin"):                                                  any,
		validates("object.spec.hostNetwork == true"):                                                  "",
		validates("has(object.spec.x) ? object.spec.x : false"):                                       any,
		validates("bool(object.spec.hostNetwork)"):                                                    "",
		validates("request.dryRun"):                                                                   "",
		validates("http.Get('https://x').ok"):                                                         "",
		variables("object.spec.x") + validates("variables.x"):                                         any,
		variables("object.spec.x == 1") + validates("variables.x"):                                    "",
		variables("object.spec.x == 1") + validates("has(object.spec.y) ? variables.x : false"):       "",
		variables("http.Get('https://x').ok") + validates("variables.x"):                              "",
		"  matchConditions: [{name: a, expression: object.spec.x}]\n" + validates("true"):             any,
		"  validations: [{expression: 'true', messageExpression: object.metadata.name}]\n":            any,
		"  validations: [{expression: 'true', messageExpression: \"'a ' + object.metadata.name\"}]\n": "",
		"  validations: [{expression: 'true', messageExpression: \"request.namespace\"}]\n":           "",
		validates("params.x == 1"):                                                                    "no params",
		validates("authorizer.requestResource.check('get').allowed()"):                                "no authorizer.requestResource",
		validates("images.containers.size() > 0"):                                                     "no images",
		validates("object.spec.containers.map(c, c.image).all(images, images != 'a')"):                "",
	} {
		_, problems := compileVP(t, podPolicy(spec))
		if got := fmt.Sprint(problems); (want == "") != (len(problems) == 0) || !strings.Contains(got, want) {
			t.Errorf("%s%s, want %q", spec, got, want)
		}
	}
	for expression, compiles := range map[string]bool{
		"quantity('1Gi').isGreaterThan(quantity('1Mi'))":              true,
		"object.metadata.name.replace('a', 'b') != ''":                true,
		"[1, 2].sum() == 3 && ip('127.0.0.1').family() == 4":          true,
		"image(object.spec.containers[0].image).tag() != 'latest'":    false,
		"cel.bind(n, object.metadata.name, n != 'a')":                 false,
		"math.greatest(1, 2) < 9":                                     false,
		"sha256(object.metadata.name) != ''":                          false,
		"images.containers.size() > 0":                                false,
		"time.now() > timestamp('2020-01-01T00:00:00Z')":              false,
		"has(object['spec'])":                                         false,
		"resource.Get('v1', 'configmaps', 'shop', 'c').data.a == '1'": false,
	} {
		p, problems := compileVP(t, elsewhere(podPolicy(validates(expression))))
		if (p != nil) != compiles || !compiles && !strings.Contains(fmt.Sprint(problems), "no functions of Kyverno") {
			t.Errorf("%s: %v", expression, problems)
		}
	}
	if p, problems := compileVP(t, elsewhere(podPolicy(validates("object.spec.hostNetwork && params.x == 1")))); p == nil {
		t.Error(problems)
	}
}

func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		spec    string
		outcome Outcome
		enforce bool
		message string
	}{
		"pass": {validates("object.metadata.name == 'web'"), Pass, true, "success"},
		"fail": {validates("object.metadata.name == 'x'"), Fail, true, "denied"},
		"default message": {"  validations: [{expression: 'false'}]\n", Fail, true,
			"CEL expression validation failed at index 0"},
		"expression": {"  validations: [{message: m, expression: 'false', messageExpression: \"'name ' + " +
			"object.metadata.name\"}]\n", Fail, true, "name web"},
		"bad message": {"  validations: [{message: m, expression: 'false', messageExpression: \"string(object.nothing)\"}]\n",
			Fail, true, "failed to evaluate message expression: no such key: nothing"},
		"empty message": {"  validations: [{message: m, expression: 'false', messageExpression: \"''\"}]\n", Fail, true,
			"CEL expression validation failed at index 0"},
		"remote message": {"  validations: [{message: m, expression: 'false', messageExpression: " +
			"\"string(http.Get('https://x').m)\"}]\n", Fail, true, "m"},
		"annotation": {"  auditAnnotations: [{key: k, valueExpression: \"string(object.metadata.labels['app'])\"}]\n" +
			validates("true"), Pass, true, "success"},
		"bad annotation": {"  auditAnnotations: [{key: k, valueExpression: \"string(object.metadata.labels['no'])\"}]\n" +
			validates("true"), Error, true, "failed to evaluate auditAnnotation 'k': no such key: no"},
		"failed anyway": {"  auditAnnotations: [{key: k, valueExpression: \"string(object.metadata.labels['no'])\"}]\n" +
			validates("false"), Fail, true, "denied"},
		"error, Ignore": {"  failurePolicy: Ignore\n" + validates("object.spec.nothing == 1"), Error, true,
			"expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"},
		"unknown, fail": {"  validations: [{expression: \"http.Get('https://x').ok\"}, {message: m, expression: 'false'}]\n",
			Fail, true, "m"},
		"unknown, error": {"  validations: [{expression: \"http.Get('https://x').ok\"}, {message: m, expression: " +
			"'object.no == 1'}]\n", Error, true, "expression 'object.no == 1' resulted in error: no such key: no"},
		"error, fail": {"  validations: [{expression: 'object.no == 1'}, {message: m, expression: 'false'}]\n", Error, true,
			"expression 'object.no == 1' resulted in error: no such key: no"},
		"unknown, note": {"  auditAnnotations: [{key: k, valueExpression: \"string(http.Get('https://x').ok)\"}]\n" +
			validates("true"), Unknown, true, "needs the cluster: an HTTP call"},
		"all labels": {validates("namespaceObject.metadata.labels.all(k, k != 'x')"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"label count": {validates("size(namespaceObject.metadata.labels) > 0"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"equal labels": {validates("namespaceObject.metadata.labels != {'a': 'b'}"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"label by map": {validates("namespaceObject.metadata.labels.map(k, k).size() == 0"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"labels, pairs": {validates("namespaceObject.metadata.labels.all(k, v, v != 'x')"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"label variable": {"  variables: [{name: ok, expression: \"namespaceObject.metadata.labels.exists(k, k == 'x')\"}]\n" + validates("!variables.ok"), Unknown, true, "needs the cluster: Namespace prod"},
		"a namespace":    {validates("namespaceObject != null"), Pass, true, "success"},
		"own resource": {validates("authorizer.requestResource.check('get').allowed()"), Unknown, true,
			"needs the cluster: whether a user is authorized"},
		"bind": {validates("cel.bind(n, object.metadata.name, n == 'web' && n.size() == 3)"), Pass, true,
			"success"},
		"value, or": {validates("object.metadata.name.orValue('x') == 'web'"), Pass, true, "success"},
		"audit":     {"  validationActions: [Audit]\n" + validates("false"), Fail, false, "denied"},
		"condition": {"  matchConditions: [{name: a, expression: 'false'}]\n" + validates("false"), Skip, true, "skip"},
		"condition error": {"  matchConditions: [{name: a, expression: '1/0 == 1'}]\n" + validates("true"), Error, true,
			"division by zero"},
		"ignored error": {"  failurePolicy: Ignore\n  matchConditions: [{name: a, expression: '1/0 == 1'}]\n" +
			validates("true"), Skip, false, "division by zero"},
		"false wins": {"  matchConditions: [{name: a, expression: '1/0 == 1'}, {name: b, expression: 'false'}]\n" +
			validates("false"), Skip, true, "skip"},
		"error": {validates("object.spec.nothing == 1"), Error, true,
			"expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"},
		"http": {validates("http.Get('https://x').ok"), Unknown, true, "needs the cluster: an HTTP call"},
		"registry": {validates("has(image.GetMetadata('nginx').config)"), Unknown, true,
			"needs the cluster: the metadata of an image"},
		"shadowed": {validates("['nginx'].all(image, image == 'nginx')"), Pass, true, "success"},
		"look-up": {validates("resource.Get('v1', 'configmaps', 'a', 'b').data.x == '1'"), Unknown, true,
			"needs the cluster: ConfigMap a/b"},
		"has look-up": {validates("has(resource.Get('v1', 'configmaps', 'a', 'b').data)"), Unknown, true,
			"needs the cluster: ConfigMap a/b"},
		"namespace": {validates("namespaceObject.metadata.labels['env'] == 'x'"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"namespace has": {validates("has(namespaceObject.metadata.annotations)"), Unknown, true,
			"needs the cluster: Namespace prod"},
		"namespace name": {validates("namespaceObject.metadata.name == 'prod'"), Pass, true, "success"},
		"authorizer": {validates("authorizer.group('').resource('pods').check('create').allowed()"), Unknown, true,
			"needs the cluster: whether a user is authorized"},
		"variable lookup": {"  variables: [{name: cm, expression: \"resource.Get('v1', 'configmaps', 'a', 'b')\"}]\n" +
			validates("variables.cm.data.x == '1'"), Unknown, true, "needs the cluster: ConfigMap a/b"},
		"time": {validates("time_now() == '2026-01-02T03:04:05Z' && time_before('2026-01-01T00:00:00Z', time_now())"),
			Pass, true, "success"},
		"request": {validates("request.kind.kind == 'Pod' && request.resource.resource == 'pods' && request.operation == " +
			"'CREATE' && request.namespace == 'prod'"), Pass, true, "success"},
		"request of no subresource": {validates("!has(request.subResource) && !has(request.requestSubResource) && " +
			"has(request.name) && request.?subResource.orValue('') == ''"), Pass, true, "success"},
		"subresource of a request of none": {validates("request.subResource == ''"), Error, true,
			"expression 'request.subResource == ''' resulted in error: no such key: subResource"},
		"request options": {validates("request.options.fieldManager == 'flux' || object.metadata.name == 'x'"), Unknown,
			true, "needs the cluster: the options of the request"},
		"request options that are not needed": {validates("request.options != null || true"), Pass, true, "success"},
		"libraries": {validates("hash.md5('a') == md5('a') && sha256('a').startsWith('ca978112') && " +
			"json.unmarshal('{\"a\": 1}').a == 1 && quantity('1Gi').isGreaterThan(quantity('1Mi')) && " +
			"image('nginx').registry() == 'index.docker.io' && parseServiceAccount('system:serviceaccount:a:b').Name == 'b' " +
			"&& math.round(1.26, 1) == 1.3"), Pass, true, "success"},
		"images": {validates("images.containers.all(i, i != '') && images.initContainers[0] == 'busybox'"), Pass, true,
			"success"},
		"random": {validates("random() == random() && size(random()) == 8 && random('[a-z]{5}-x').matches('^[a-z]{5}-x$')"),
			Pass, true, "success"},
	} {
		t.Run(name, func(t *testing.T) {
			text := podPolicy(tt.spec)
			if strings.Contains(tt.spec, "authorizer") {
				text = elsewhere(text)
			} else if strings.Contains(tt.spec, "images.") {
				text = ofMutations(text)
			}
			p := mustVP(t, text)
			env := Env{Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, twoContainers)},
				env)
			if len(got) != 1 {
				t.Fatalf("%+v", got)
			}
			if got[0].Outcome != tt.outcome || got[0].Enforce != tt.enforce || got[0].Message != tt.message {
				t.Errorf("got %s %v %q, want %s %v %q", got[0].Outcome, got[0].Enforce, got[0].Message, tt.outcome, tt.enforce,
					tt.message)
			}
		})
	}
}

// Kyverno evaluates with an empty object where the request has none, after the API server has read the match conditions.
func TestAbsentObjects(t *testing.T) {
	request := &admission.Request{Operation: admission.Create, Object: object(t, twoContainers)}
	when := func(e string) string {
		return "  matchConditions: [{name: a, expression: \"" + e + "\"}]\n" + validates("false")
	}
	for text, want := range map[string]Outcome{
		podPolicy(validates("oldObject == null")):                                           Fail,
		podPolicy(validates("size(oldObject) == 0")):                                        Pass,
		podPolicy(validates("oldObject == null || oldObject.metadata.name == 'a'")):         Error,
		podPolicy(validates("request.oldObject == null")):                                   Pass,
		podPolicy(when("oldObject != null")):                                                Skip,
		elsewhere(podPolicy(validates("oldObject == null"))):                                Pass,
		elsewhere(podPolicy(validates("oldObject == null || oldObject.metadata.x == 'a'"))): Pass,
	} {
		if got := mustVP(t, text).Evaluate(t.Context(), request, Env{}); len(got) != 1 || got[0].Outcome != want {
			t.Errorf("%s%+v, want %s", text, got, want)
		}
	}
}

func TestAutogen(t *testing.T) {
	p := mustVP(t, podPolicy(validates("object.spec.containers.all(c, c.image != 'bad') && "+
		"!has(object.metadata.labels.x) && object.metadata.namespace == 'ns'")))
	deploy := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: ns, labels: {x: '1'}}\n" +
		"spec: {template: {metadata: {labels: {y: '1'}}, spec: {containers: [{image: good}, {image: bad}]}}}"
	cron := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: d, namespace: ns}\n" +
		"spec: {jobTemplate: {spec: {template: {metadata: {labels: {x: '1'}}, spec: {containers: [{image: good}]}}}}}"
	for text, want := range map[string]string{
		deploy: "/spec/template/spec/containers/1/image",
		cron:   "/spec/jobTemplate/spec/template/metadata/labels/x",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: m}\n" +
			"spec: {template: {metadata: {labels: {y: '1'}}, spec: {containers: []}}}": "/metadata/namespace",
	} {
		got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, text)}, Env{})
		if len(got) != 1 || !slices.Equal(got[0].Fields, []string{want}) {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	p = mustVP(t, podPolicy("  autogen: {podControllers: {controllers: [cronjobs]}}\n"+validates("false")))
	if got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, deploy)},
		Env{}); len(got) != 0 {
		t.Errorf("a controller that is not listed got %+v", got)
	}
}

// TestAutogenText holds that the rules for pod controllers come of the text of a policy on Pods, as in Kyverno.
func TestAutogenText(t *testing.T) {
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: own, namespace: ns, labels: {own: a}}, " +
		"spec: {replicas: 1, template: {metadata: {name: pod, labels: {pod: a}}, spec: {hostPID: true}}}}"
	for expression, want := range map[string]Outcome{
		"has(object.metadata.labels.pod)":                             Pass,
		"has(object.metadata.labels.own)":                             Fail,
		"object.metadata.?labels.?pod.hasValue()":                     Pass,
		"object.?metadata.?labels.?pod.hasValue()":                    Fail,
		"object.?metadata.?labels.?own.hasValue()":                    Pass,
		"object['metadata'].labels.own == 'a'":                        Pass,
		"has((object).metadata.labels.own)":                           Pass,
		"has(dyn(object).metadata.labels.own)":                        Pass,
		"has(variables.o.metadata.labels.own)":                        Pass,
		"has(variables.o.metadata.labels.pod)":                        Fail,
		"has(variables.object.spec.hostPID)":                          Pass,
		"has(variables.object.spec.replicas)":                         Fail,
		"object.?spec.?hostPID.orValue(false)":                        Fail,
		"object.?spec.?replicas.orValue(0) == 1":                      Pass,
		"object . spec.replicas == 1":                                 Pass,
		"request.object.spec.hostPID":                                 Pass,
		"object.metadata.name == 'pod'":                               Pass,
		"object.metadata.namespace == 'ns'":                           Pass,
		"object.metadata.?namespace.orValue('') == 'ns'":              Fail,
		"has(object.metadata.namespaces)":                             Fail,
		"'object.spec' == 'object.' + 'spec'":                         Fail,
		"oldObject == {} || oldObject.spec.hostPID":                   Pass,
		"object.kind == 'Deployment' && object.spec.hostPID == true":  Pass,
		"namespaceObject.metadata.name == object.metadata.namespace":  Pass,
		"[object].all(thisobject, thisobject.spec.hostPID)":           Pass,
		"[object].all(thisobject, thisobject.kind == object['kind'])": Pass,
		"[{'spec': 'a'}].all(object, object.spec == 'a')":             Error, // it does not compile once it is rewritten
	} {
		p := mustVP(t, podPolicy("  variables: [{name: o, expression: object}, {name: object, expression: object}]\n"+
			validates(expression)))
		got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, deployment)}, Env{})
		if len(got) != 1 || got[0].Outcome != want {
			t.Errorf("%s: %+v, want %s", expression, got, want)
		}
	}
}

// TestUnreadablePods holds that what a policy on Pods reads of an object is an error where it cannot be read.
func TestUnreadablePods(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec: "
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: ns}\nspec: "
	const cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: d, namespace: ns}\nspec: "
	const noHost = "!has(object.spec) || !has(object.spec.hostPID) || !object.spec.hostPID"
	const noLabel = "!has(object.metadata.labels) || !has(object.metadata.labels.x)"
	const noBad = "images.containers.all(i, i != 'bad')"
	for _, tt := range []struct{ expression, object string }{
		{noHost, deployment + "{template: [{spec: {hostPID: true}}]}"},
		{noHost, deployment + "{template: text}"},
		{noHost, deployment + "[{template: {spec: {hostPID: true}}}]"},
		{noHost, deployment + "{replicas: 1}"},
		{noHost, cron + "{jobTemplate: [{spec: {template: {spec: {hostPID: true}}}}]}"},
		{noLabel, deployment + "{template: [{metadata: {labels: {x: '1'}}}]}"},
		{noHost, pod + "text"},
		{noBad, pod + "[{containers: [{image: bad}]}]"},
		{noBad, pod + "{containers: {a: {image: bad}}}"},
		{noBad, pod + "{containers: bad}"},
		{noBad, pod + "{containers: [bad]}"},
		{noBad, pod + "{containers: [{name: a}]}"},
		{noBad, pod + "{containers: [{image: [bad]}]}"},
		{noBad, deployment + "{template: {spec: {containers: [bad]}}}"},
		{noBad, cron + "{jobTemplate: [{spec: {template: {spec: {containers: [{image: bad}]}}}}]}"},
	} {
		p := mustVP(t, ofMutations(podPolicy(validates(tt.expression))))
		got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, tt.object)}, Env{})
		if len(got) != 1 || got[0].Outcome != Error {
			t.Errorf("%s on %s: %+v", tt.expression, tt.object, got)
		}
	}
}

func TestExceptions(t *testing.T) {
	seed := podPolicy(validates("!has(object.spec.volumes) || object.spec.volumes.all(vol, " +
		"kyverno.allowedValues.volumeTypes.exists(type, has(vol[type])) || has(vol.emptyDir))"))
	released := podPolicy(validates("object.spec.containers.all(c, " +
		"c.?securityContext.?capabilities.?add.orValue([]).all(x, string(c.image) in exceptions.allowedImages && x in " +
		"exceptions.allowedValues || x == 'CHOWN'))"))
	r := &admission.Request{Operation: admission.Create, Object: object(t, twoContainers)}
	names := func(in []*Exception) (out []string) {
		for _, e := range in {
			out = append(out, e.name)
		}
		return out
	}
	for name, tt := range map[string]struct {
		policy     string
		exceptions []*Exception
		outcome    Outcome
		used       []string
		combined   bool
	}{
		"none": {seed, nil, Fail, nil, false},
		"named value": {seed, []*Exception{exceptionOf(t, "e", "  allowedValues: {volumeTypes: [hostPath]}\n")}, Pass,
			[]string{"e"}, false},
		"other name": {seed, []*Exception{exceptionOf(t, "e", "  allowedValues: {types: [hostPath]}\n")}, Fail, nil,
			false},
		"other value": {seed, []*Exception{exceptionOf(t, "e", "  allowedValues: {volumeTypes: [nfs]}\n")}, Fail, nil,
			false},
		"condition": {seed, []*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: "+
			"\"object.metadata.name == 'x'\"}]\n  allowedValues: {volumeTypes: [hostPath]}\n")}, Fail, nil, false},
		"condition error": {seed, []*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: "+
			"\"object.nothing == 'x'\"}]\n")}, Fail, nil, false},
		"error, no fault": {podPolicy(validates("true")),
			[]*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: \"object.nothing == 'x'\"}]\n")}, Error,
			nil, false},
		"error, Ignore": {podPolicy("  failurePolicy: Ignore\n" + validates("true")),
			[]*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: \"object.nothing == 'x'\"}]\n")}, Pass,
			nil, false},
		"one is false": {podPolicy(validates("true")),
			[]*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: \"object.nothing == 'x'\"}, {name: d, "+
				"expression: 'false'}]\n")}, Pass, nil, false},
		"whole": {seed, []*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: "+
			"\"object.metadata.name == 'web'\"}]\n")}, Skip, []string{"e"}, false},
		"expired": {seed, []*Exception{exceptionOf(t, "e", "  expiresAt: '2025-12-31T00:00:00Z'\n")}, Fail, nil, false},
		"not expired": {seed, []*Exception{exceptionOf(t, "e", "  expiresAt: '2026-12-31T00:00:00Z'\n")}, Skip,
			[]string{"e"}, false},
		"both in one": {released, []*Exception{exceptionOf(t, "e",
			"  images: ['nginx:1.25']\n  allowedValues: [NET_RAW]\n")}, Pass, []string{"e"}, false},
		"combined": {released, []*Exception{exceptionOf(t, "i", "  images: ['nginx:1.25']\n"),
			exceptionOf(t, "x", "  images: [other]\n"), exceptionOf(t, "v", "  images: [foo]\n  allowedValues: [NET_RAW]\n")},
			Pass, []string{"i", "v"}, true},
		"one is enough": {released, []*Exception{exceptionOf(t, "i", "  images: ['nginx:1.25']\n"),
			exceptionOf(t, "v", "  images: ['nginx:1.25']\n  allowedValues: [NET_RAW]\n")}, Pass, []string{"v"}, false},
		"not known": {seed, []*Exception{exceptionOf(t, "e", "  matchConditions: [{name: c, expression: "+
			"\"namespaceObject.metadata.labels.a == 'x'\"}]\n")}, Unknown, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustVP(t, tt.policy).Evaluate(t.Context(), r, Env{Exceptions: tt.exceptions,
				Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
			if len(got) != 1 || got[0].Outcome != tt.outcome || got[0].Combined != tt.combined ||
				!slices.Equal(names(got[0].Exceptions), tt.used) {
				t.Fatalf("%+v", got)
			}
		})
	}
}

// A condition that does not hold decides, also behind one that only the cluster could answer.
func TestExceptionThatDoesNotMatchAnyway(t *testing.T) {
	e := exceptionOf(t, "x", "  matchConditions:\n"+
		"  - {name: cluster, expression: \"namespaceObject.metadata.labels.team == 'a'\"}\n"+
		"  - {name: other, expression: \"object.metadata.name == 'other'\"}\n")
	pod := object(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: prod}\n")
	results := mustVP(t, podPolicy(validates("false"))).Evaluate(context.Background(),
		&admission.Request{Operation: admission.Create, Object: pod}, Env{Exceptions: []*Exception{e}})
	if len(results) != 1 || results[0].Outcome != admission.Fail {
		t.Errorf("got %+v", results)
	}
}

func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		spec string
		want string
	}{
		"syntax": {"  validations:\n  - expression: object.spec.x ==\n",
			"p.yaml:9:33: the expression does not compile: Syntax error: mismatched input '<EOF>'"},
		"quoted": {"  validations:\n  - expression: 'object.foo(1)'\n",
			"p.yaml:9:28: the expression does not compile: undeclared reference to 'foo'"},
		"literal": {"  validations:\n  - expression: |\n      true &&\n      nothing\n",
			"p.yaml:11: the expression does not compile: undeclared reference to 'nothing'"},
		"type": {"  validations:\n  - expression: '1 + 1'\n",
			"p.yaml:9:5: the expression returns int and must return bool"},
		"variable": {"  variables:\n  - {name: pods, expression: '1'}\n  validations:\n  - expression: variables.pod == 1\n",
			"p.yaml:11:26: the variable \"pod\" is not defined before this place; did you mean \"pods\"?"},
		"later": {"  variables:\n  - {name: a, expression: 'variables.b'}\n  - {name: b, expression: '1'}\n" +
			"  validations:\n  - expression: 'true'\n", "the variable \"b\" is not defined before this place"},
		"nothing": {"  validations: []\n", "the policy validates nothing"},
		"empty":   {"  validations:\n  - expression: ''\n", "the expression is empty"},
		"has":     {"  validations:\n  - expression: has(object)\n", "invalid argument to has() macro"},
		"controller": {"  autogen: {podControllers: {controllers: [deployment]}}\n  validations:\n  - expression: 'true'\n",
			"\"deployment\" is not a pod controller"},
	} {
		t.Run(name, func(t *testing.T) {
			p, problems := compileVP(t, podPolicy(tt.spec))
			if p != nil || len(problems) == 0 || !strings.Contains(problems[0].String(), tt.want) {
				t.Errorf("got %v, want %s", problems, tt.want)
			}
		})
	}
}

// TestInputUnchangedAndParallel holds that objects are never written and that results do not depend on what else runs.
func TestInputUnchangedAndParallel(t *testing.T) {
	p := mustVP(t, podPolicy("  variables:\n  - {name: cs, expression: 'object.spec.containers + "+
		"object.spec.initContainers'}\n"+validates("variables.cs.all(c, !c.securityContext.privileged) && "+
		"namespaceObject.metadata.name == 'x'")))
	o := object(t, twoContainers)
	before, _ := json.Marshal(o)
	want := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: o}, Env{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				got := p.Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: o}, Env{})
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(Exception{})); diff != "" {
					t.Error(diff)
					return
				}
			}
		})
	}
	wg.Wait()
	if after, _ := json.Marshal(o); string(before) != string(after) {
		t.Errorf("the object was changed:\n%s\n%s", before, after)
	}
}

func TestCanceled(t *testing.T) {
	p := mustVP(t, podPolicy(validates("object.spec.containers.all(c, object.spec.containers.all(d, c == d || c != d))")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := object(t, twoContainers)
	cs := o["spec"].(map[string]any)["containers"].([]any)
	for range 8 {
		cs = append(cs, cs...)
	}
	o["spec"].(map[string]any)["containers"] = cs
	got := p.Evaluate(ctx, &admission.Request{Operation: admission.Create, Object: o}, Env{})
	if len(got) != 1 || got[0].Outcome != Error {
		t.Errorf("%+v", got)
	}
}
