// Package deploy_test holds the chart to the kustomizations beside it.
package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// version is the image's in the kustomizations, so that both deploy the same.
const version = "0.1.0"

type object = map[string]any

// packed is the chart as "helm push" takes it.
type packed []byte

// pack runs pack-chart.
func pack(t *testing.T, version string) (packed, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	printed, err := exec.CommandContext(t.Context(), "./pack-chart", version, out, "1767323045").CombinedOutput()
	if err != nil {
		if made, _ := filepath.Glob(filepath.Join(out, "*")); len(made) > 0 {
			t.Errorf("%s fails, and leaves %q", version, made)
		}
		return nil, fmt.Errorf("%w: %s", err, printed)
	}
	return os.ReadFile(filepath.Join(out, "lintel-"+strings.TrimPrefix(version, "v")+".tgz"))
}

func chart(t *testing.T) packed {
	t.Helper()
	p, err := pack(t, version)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rendered are the objects that Helm makes of the package with values, by kind and name; nothing that is missing is used.
func (p packed) rendered(t *testing.T, values string) (map[string]object, error) {
	t.Helper()
	return p.renderedBy(t, engine.Engine{Strict: true}, values, "lintel")
}

func (p packed) renderedBy(t *testing.T, by engine.Engine, values, namespace string) (map[string]object, error) {
	t.Helper()
	texts, err := p.texts(t, by, values, namespace)
	if err != nil {
		return nil, err
	}
	all := map[string]object{}
	for name, text := range texts {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		add(t, all, text)
	}
	return all, nil
}

// texts are what Helm makes of each file.
func (p packed) texts(t *testing.T, by engine.Engine, values, namespace string) (map[string]string, error) {
	t.Helper()
	c, err := loader.LoadArchive(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil { // numbers become floating point, as Helm has them
		t.Fatal(err)
	}
	top, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: "123", Namespace: namespace, IsInstall: true},
		common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return by.RenderWithContext(t.Context(), c, top)
}

func add(t *testing.T, all map[string]object, text string) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		document = strings.TrimPrefix(strings.TrimSpace(document), "---\n")
		if document == "" {
			continue
		}
		var o object
		if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		name := fmt.Sprint(o["kind"], " ", o["metadata"].(object)["name"])
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		all[name] = o
	}
}

// built are the objects that kustomize makes of parts of deploy/.
func built(t *testing.T, resource, component string) map[string]object {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(dir, here) // kustomize takes no absolute paths
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%q]\n", filepath.Join(up, resource))
	if component != "" {
		text += fmt.Sprintf("components: [%q]\n", filepath.Join(up, component))
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	written, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]object{}
	add(t, all, string(written))
	return all
}

var hashed = regexp.MustCompile(`-[a-z0-9]{10}$`)

// same takes away what differs by design: the namespace, which Helm makes or not; the hash in the name of the settings,
// which is a checksum in the pods' annotations; Helm's labels; and that the volume stays.
func same(t *testing.T, all map[string]object, helm bool) map[string]object {
	t.Helper()
	out := map[string]object{}
	for name, o := range all {
		kind, short, _ := strings.Cut(name, " ")
		if kind == "Namespace" {
			continue
		}
		metadata := o["metadata"].(object)
		labels, _ := metadata["labels"].(object)
		if helm {
			if labels["app.kubernetes.io/managed-by"] != "Helm" || labels["app.kubernetes.io/instance"] != "123" ||
				labels["helm.sh/chart"] != "lintel-"+version {
				t.Errorf("%s has the labels %v", name, labels)
			}
			for _, label := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "helm.sh/chart"} {
				delete(labels, label)
			}
		}
		switch kind {
		case "PersistentVolumeClaim":
			delete(metadata, "annotations")
		case "ConfigMap":
			short = hashed.ReplaceAllString(short, "")
			metadata["name"] = short
		case "Deployment":
			pod := o["spec"].(object)["template"].(object)
			annotations, _ := pod["metadata"].(object)["annotations"].(object)
			if sum, _ := annotations["checksum/config"].(string); helm && len(sum) != 64 {
				t.Errorf("the pods have the checksum %q", sum)
			}
			delete(pod["metadata"].(object), "annotations")
			from := pod["spec"].(object)["containers"].([]any)[0].(object)["envFrom"].([]any)[0].(object)["configMapRef"].(object)
			from["name"] = hashed.ReplaceAllString(from["name"].(string), "")
		}
		out[kind+" "+short] = o
	}
	return out
}

// With the values that select a mode, the chart is what kustomize builds of deploy/.
func TestSameAsKustomize(t *testing.T) {
	p := chart(t)
	for values, want := range map[string]map[string]object{
		"":                 built(t, "overlays/single", ""),
		"register: true":   built(t, "overlays/single", "components/register"),
		"mode: replicated": built(t, "overlays/replicated", ""),
		"monitoring: true": built(t, "overlays/single", "components/monitoring"),
	} {
		got, err := p.rendered(t, values)
		if err != nil {
			t.Errorf("%q: %v", values, err)
			continue
		}
		if diff := cmp.Diff(same(t, want, false), same(t, got, true)); diff != "" || len(got) < 6 {
			t.Errorf("%q: %d objects (-kustomize +chart):\n%s", values, len(got), diff)
		}
	}
}

// valueAt is what objects have at a path such as "ConfigMap lintel/data/KEY"; nil where there is nothing.
func valueAt(all map[string]object, path string) any {
	parts := strings.Split(path, "/")
	var at any = all[parts[0]]
	for _, part := range parts[1:] {
		switch v := at.(type) {
		case object:
			at = v[part]
		case []any:
			i := int(part[0] - '0')
			if at = nil; i < len(v) {
				at = v[i]
			}
		}
	}
	return at
}

// Each value arrives where it should.
func TestValues(t *testing.T) {
	const pod = "Deployment lintel/spec/template/spec/"
	const routed = "{publicURL: 'https://lintel.example.com:8443/'"
	p := chart(t)
	for values, want := range map[string]string{
		"publicURL: https://lintel.example.com":                                  "ConfigMap lintel/data/LINTEL_PUBLIC_URL=https://lintel.example.com",
		"config: {LINTEL_GITHUB_APP_ID: 1234567}":                                "ConfigMap lintel/data/LINTEL_GITHUB_APP_ID=1234567",
		"config: {LINTEL_SWEEP_INTERVAL: 1m}":                                    "ConfigMap lintel/data/LINTEL_SWEEP_INTERVAL=1m",
		"config: {LINTEL_WORKERS: null}":                                         "ConfigMap lintel/data/LINTEL_WORKERS=<nil>",
		"{register: true, config: {LINTEL_GITHUB_APP_ID: 7}}":                    "ConfigMap lintel/data/LINTEL_GITHUB_APP_ID=",
		"image: {repository: registry.example/lintel, tag: v9}":                  pod + "containers/0/image=registry.example/lintel:v9",
		"secretName: other":                                                      pod + "volumes/2/secret/secretName=other",
		"{mode: replicated, secretName: other}":                                  pod + "containers/0/env/0/valueFrom/secretKeyRef/name=other",
		"{mode: replicated, replicas: 5}":                                        "Deployment lintel/spec/replicas=5",
		"replicas: 5":                                                            "Deployment lintel/spec/replicas=1",
		"resources: {limits: {memory: 9Gi}}":                                     pod + "containers/0/resources=map[limits:map[memory:9Gi]]",
		"storage: {size: 20Gi}":                                                  "PersistentVolumeClaim lintel-data/spec/resources/requests/storage=20Gi",
		"storage: {className: fast}":                                             "PersistentVolumeClaim lintel-data/spec/storageClassName=fast",
		"volumes: [{name: sources, emptyDir: {}}]":                               pod + "volumes/3/name=sources",
		"{register: true, volumes: [{name: sources, emptyDir: {}}]}":             pod + "volumes/2/name=sources",
		"volumeMounts: [{name: sources, mountPath: /etc/sources}]":               pod + "containers/0/volumeMounts/3/mountPath=/etc/sources",
		"secretName: '0123'":                                                     pod + "volumes/2/secret/secretName=0123",
		"image: {digest: 'sha256:" + strings.Repeat("0a", 32) + "'}":             pod + "containers/0/image=ghcr.io/lintel-bot/lintel@sha256:" + strings.Repeat("0a", 32),
		"image: {pullPolicy: Always}":                                            pod + "containers/0/imagePullPolicy=Always",
		"imagePullSecrets: [{name: registry}]":                                   pod + "imagePullSecrets/0/name=registry",
		"nodeSelector: {disk: 'true'}":                                           pod + "nodeSelector/disk=true",
		"{mode: replicated, tolerations: [{key: a, operator: Exists}]}":          pod + "tolerations/0/key=a",
		"affinity: {nodeAffinity: {}}":                                           pod + "affinity/nodeAffinity=map[]",
		"priorityClassName: high":                                                pod + "priorityClassName=high",
		"env: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}]":                 pod + "containers/0/env/3/name=HTTPS_PROXY",
		"{register: true, env: [{name: NO_PROXY, value: a}]}":                    pod + "containers/0/env/1/name=NO_PROXY",
		"podAnnotations: {a.example/b: '1234567', c: '{{ x }}'}":                 "Deployment lintel/spec/template/metadata/annotations/c={{ x }}",
		"podLabels: {team: 'yes'}":                                               "Deployment lintel/spec/template/metadata/labels/team=yes",
		"service: {type: NodePort}":                                              "Service lintel/spec/type=NodePort",
		"service: {annotations: {a: 'b: c'}}":                                    "Service lintel/metadata/annotations/a=b: c",
		"{monitoring: true, monitoringLabels: {release: prometheus}}":            "ServiceMonitor lintel/metadata/labels/release=prometheus",
		routed + ", ingress: {enabled: true}}":                                   "Ingress lintel/spec/rules/0/host=lintel.example.com",
		routed + "}":                                                             "Ingress lintel=map[]",
		routed + ", ingress: {enabled: true}, register: true}":                   "Ingress lintel/spec/rules/0/http/paths/5/path=/setup",
		routed + ", ingress: {enabled: true, tlsSecretName: cert}}":              "Ingress lintel/spec/tls/0/hosts/0=lintel.example.com",
		routed + ", ingress: {enabled: true, className: nginx}}":                 "Ingress lintel/spec/ingressClassName=nginx",
		routed + ", ingress: {enabled: true, annotations: {a: 'true'}}}":         "Ingress lintel/metadata/annotations/a=true",
		"egress: [{to: [{ipBlock: {cidr: 10.0.0.1/32}}], ports: [{port: 443}]}]": "NetworkPolicy lintel/spec/egress/2/to/0/ipBlock/cidr=10.0.0.1/32",
	} {
		all, err := p.rendered(t, values)
		if err != nil {
			t.Errorf("%q: %v", values, err)
			continue
		}
		path, value, _ := strings.Cut(want, "=")
		if got := fmt.Sprint(valueAt(all, path)); got != value {
			t.Errorf("%q: %s is %q, want %q", values, path, got, value)
		}
	}
	// A changed setting restarts the pods, and nothing else does.
	sum := func(values string) any {
		all, err := p.rendered(t, values)
		if err != nil {
			t.Fatal(err)
		}
		return all["Deployment lintel"]["spec"].(object)["template"].(object)["metadata"].(object)["annotations"].(object)["checksum/config"]
	}
	if sum("") == sum("config: {LINTEL_WORKERS: 3}") || sum("") != sum("monitoring: true") {
		t.Error("the checksum of the settings is not theirs")
	}
}

func TestSchemaOfValues(t *testing.T) {
	p := chart(t)
	for _, values := range []string{"mode: both", "{mode: replicated, register: true}", "replica: 2", "image: {name: x}",
		"config: {LINTEL_GITHUB_WEBHOOK_SECRET: s}", "config: {LINTEL_NATS_URL: nats://u:p@n}", "config: {lintel: x}", "config: {LINTEL_X: [a]}",
		"secretName: ''", "publicURL: lintel.example.com", "replicas: 0", "image: {digest: abc}", "env: [{value: x}]", "podLabels: {app.kubernetes.io/name: x}",
		"podAnnotations: {a: 1}", "podAnnotations: {checksum/config: x}", "service: {type: ExternalName}", "ingress: {host: x}", "ingress: {enabled: true}",
		"{ingress: {enabled: true}, publicURL: 'https://example.com/lintel'}"} {
		if _, err := p.rendered(t, values); err == nil {
			t.Errorf("%q is taken", values)
		}
	}
}

// Who installs the chart is told what is still to be done, and nothing else.
func TestNotes(t *testing.T) {
	p := chart(t)
	for values, want := range map[string]string{
		"": "Lintel needs the secret lintel in the namespace ns, and config.LINTEL_GITHUB_APP_ID.\nRoute /webhook to the service lintel.",
		"{publicURL: 'https://a.example'}": "Lintel needs the secret lintel in the namespace ns, and config.LINTEL_GITHUB_APP_ID.\n" +
			"Route /webhook, and for pages /r/, /o/, /static/ and /auth/, to the service lintel.",
		"register: true": "The link that registers the App: kubectl -n ns logs deploy/lintel\n" +
			"Route /webhook to the service lintel, and /setup until the App exists.",
		"{register: true, publicURL: 'https://a.example', ingress: {enabled: true}}": "The link that registers the App: kubectl -n ns logs deploy/lintel",
	} {
		texts, err := p.texts(t, engine.Engine{Strict: true}, values, "ns")
		if got := strings.TrimSpace(texts["lintel/templates/NOTES.txt"]); err != nil || got != want {
			t.Errorf("%q: %v\n%s", values, err, got)
		}
	}
}

// Names that YAML takes for something else stay names, and the values of a chart from before do (helm upgrade
// --reuse-values).
func TestOddReleases(t *testing.T) {
	p := chart(t)
	all, err := p.renderedBy(t, engine.Engine{}, "{ingress: null, service: null, env: null, podLabels: null, podAnnotations: null, "+
		"image: {digest: null, pullPolicy: null}, monitoring: true, monitoringLabels: null, register: true}", "123")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range all {
		if got := o["metadata"].(object)["namespace"]; got != nil && got != "123" {
			t.Errorf("%s is in %v", name, got)
		}
	}
	now, err := p.renderedBy(t, engine.Engine{}, "{register: true, monitoring: true}", "123")
	if diff := cmp.Diff(now, all); err != nil || diff != "" {
		t.Errorf("%v (-with all values +without):\n%s", err, diff)
	}
}

// A chart has a version that can be the tag of an image; whatever is wrong leaves no package. The same version and time
// give the same bytes.
func TestPack(t *testing.T) {
	for version, good := range map[string]bool{"1.2.3": true, "v1.2.3": true, "1.2.3-rc.1": true, "1.2.3-4-gabc": true,
		"1.2.3+build": false, "1.2": false, "": false, "../1.2.3": false, "1.2.3-01": false, "1.2.3\nversion: 9": false} {
		p, err := pack(t, version)
		if (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
		if err != nil {
			continue
		}
		c, err := loader.LoadArchive(bytes.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimPrefix(version, "v"); c.Metadata.Version != want || c.Metadata.AppVersion != want {
			t.Errorf("%q: the chart has %s, the image %s", version, c.Metadata.Version, c.Metadata.AppVersion)
		}
		if again, err := pack(t, version); err != nil || !bytes.Equal(p, again) {
			t.Errorf("%q: other bytes the second time: %v", version, err)
		}
	}
}
