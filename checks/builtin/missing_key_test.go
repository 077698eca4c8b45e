package builtin

import (
	"slices"
	"strings"
	"testing"
)

func TestMissingKey(t *testing.T) {
	pod := func(spec string) string {
		return "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n" +
			"spec: {template: {spec: {" + spec + "}}}\n"
	}
	env := func(ref string) string {
		return pod("containers: [{name: c, env: [{name: E, valueFrom: {" + ref + "}}]}]")
	}
	object := func(kind, more string) string {
		return "\n---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: conf, namespace: shop}\n" + more + "\n"
	}
	conf := object("ConfigMap", "data: {port: '1'}")
	const at = "/spec/template/spec/containers/0/env/0/valueFrom/configMapKeyRef/key: the ConfigMap conf of this root has " +
		`no key "prot", so the Pod does not start: it has port`
	wrong := env("configMapKeyRef: {name: conf, key: prot}")
	volume := func(v string) string { return pod("volumes: [{name: v, " + v + "}]") }
	role := func(rule string) string {
		return "\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: shop}\nrules: [{" +
			rule + "}]\n"
	}
	for _, c := range []struct {
		name, files, want string
	}{
		{"the key exists", conf + env("configMapKeyRef: {name: conf, key: port}"), ""},
		{"the key is missing", conf + wrong, at},
		{"the key is optional", conf + env("configMapKeyRef: {name: conf, key: prot, optional: true}"), ""},
		{"the root does not have the object", wrong, ""},
		{"the object is in another namespace", strings.ReplaceAll(conf, "shop", "else") + wrong, ""},
		{"binary data", object("ConfigMap", "data: {port: '1'}\nbinaryData: {prot: AA==}") + wrong, ""},
		{"a Secret", object("Secret", "stringData: {a: b}\ndata: {c: AA==}") +
			env("secretKeyRef: {name: conf, key: b}"), "/spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef/key: " +
			`the Secret conf of this root has no key "b", so the Pod does not start: it has a, c`},
		{"a program may fill an empty object", object("ConfigMap", "") + wrong, ""},
		{"a label says that a program injects keys", strings.ReplaceAll(conf, "namespace: shop}", "namespace: shop, labels: {config.openshift.io/"+
			"inject-trusted-cabundle: 'true'}}") + wrong, ""},
		{"a Secret of a type that a controller fills", object("Secret", "type: kubernetes.io/service-account-token\n"+
			"data: {a: AA==}") + env("secretKeyRef: {name: conf, key: token}"), ""},
		{"a custom resource writes it", conf + wrong + "\n---\napiVersion: trust.cert-manager.io/v1\nkind: Bundle\n" +
			"metadata: {name: conf}\nspec: {}\n", ""},
		{"an Ingress of the same name", conf + wrong + "\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\n" +
			"metadata: {name: conf}\nspec: {}\n", at},
		{"a ServiceMonitor of the same name", conf + wrong + "\n---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: conf}\nspec: {}\n", at},
		{"a Certificate names the Secret", object("Secret", "data: {a: AA==}") + env("secretKeyRef: {name: conf, key: tls.crt}") +
			"\n---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c}\nspec: {secretName: conf}\n", ""},
		{"a role lets a program write it", conf + wrong + role("resources: [configmaps], resourceNames: [conf], verbs: [get]"),
			""},
		{"a role lets a program write any ConfigMap", conf + wrong + role("resources: [configmaps], verbs: [get, patch]"), ""},
		{"a role lets a program read any ConfigMap", conf + wrong + role("resources: [configmaps], verbs: [get]"), at},
		{"items of a volume", conf + volume("configMap: {name: conf, items: [{key: port, path: a}, {key: prot, path: b}]}"),
			strings.ReplaceAll(at, "containers/0/env/0/valueFrom/configMapKeyRef/key",
				"volumes/0/configMap/items/1/key")},
		{"an optional volume", conf + volume("configMap: {name: conf, optional: true, items: [{key: prot, path: b}]}"), ""},
		{"a projected volume", conf + volume("projected: {sources: [{configMap: {name: conf, items: [{key: prot, path: b}]}}]}"),
			strings.ReplaceAll(at, "containers/0/env/0/valueFrom/configMapKeyRef/key",
				"volumes/0/projected/sources/0/configMap/items/0/key")},
		{"init containers", conf + pod("initContainers: [{name: c, env: [{name: E, valueFrom: {configMapKeyRef: "+
			"{name: conf, key: prot}}}]}]"), strings.ReplaceAll(at, "containers", "initContainers")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sights(t, rootChecks()[1], area(t, "-- app/a.yaml --"+c.files))
			want := []string(nil)
			if c.want != "" {
				want = []string{c.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
