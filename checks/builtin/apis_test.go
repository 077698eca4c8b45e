package builtin

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// definitions is a cluster with some definitions of custom resources.
type definitions []admission.Object

func (d definitions) Get(context.Context, string, string, string, string) (admission.Object, bool) {
	return nil, false
}

func (d definitions) List(ctx context.Context, group, kind, _ string) []admission.Object {
	if ctx.Value(noted{}) != nil || group != "apiextensions.k8s.io" || kind != "CustomResourceDefinition" {
		return nil
	}
	return d
}

type noted struct{}

// file is the same place in a file for every field.
type file string

func (f file) Locate(string) origin.Place {
	return origin.Place{Path: string(f), StartLine: 1, EndLine: 1}
}

func objectOf(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAPIs(t *testing.T) {
	const thing = "{apiVersion: e.com/v1, kind: Thing, metadata: {name: a}, spec: SPEC}"
	const labelled = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, " +
		"spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a}]}}}}"
	podWith := func(containers string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [" + containers + "]}}"
	}
	folder := roots.Root{Path: "a", Kind: roots.Folder}
	crd := objectOf(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.e.com},
		spec: {group: e.com, names: {kind: Thing}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object,
		properties: {spec: {type: object, properties: {size: {type: integer}},
		x-kubernetes-validations: [{rule: 'self.size >= oldSelf.size', message: cannot shrink}]}}}}}]}}`)
	for _, c := range []struct {
		name, version, object, old, mutated, want string
		root                                      roots.Root
		path                                      string
		issues                                    []render.Issue
	}{
		{name: "a correct object", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}"},
		{name: "unknown field", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {a: b}}", want: "schema /dat"},
		{name: "a violation of an unknown value", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}",
			issues: []render.Issue{{Check: render.ControllerUnknown, Pointer: "/data/a", Value: true}}},
		{name: "a violation below an unknown value", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}",
			issues: []render.Issue{{Check: render.ControllerUnknown, Pointer: "/data", Value: true}}},
		{name: "a violation next to an unknown value", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}", want: "api-server /data/a",
			issues: []render.Issue{{Check: render.ControllerUnknown, Pointer: "/data/ab", Value: true}}},
		{name: "a violation of an unknown value that a mutation moves", object: podWith("{name: a, image: 1}"),
			mutated: podWith("{name: b, image: c}, {name: a, image: 1}"),
			issues:  []render.Issue{{Check: render.ControllerUnknown, Pointer: "/spec/containers/0/image", Value: true}}},
		{name: "a violation next to an unknown value that a mutation moves", object: podWith("{name: a, image: c}"),
			mutated: podWith("{name: b}, {name: a, image: c}"), want: "api-server /spec/containers/0/image",
			issues: []render.Issue{{Check: render.ControllerUnknown, Pointer: "/spec/containers/0/image", Value: true}}},
		{name: "a mutation does not mend what cannot be decoded", object: podWith("{name: a, image: 1}"),
			mutated: podWith("{name: b, image: c}, {name: a, image: d}"), want: "api-server /spec/containers/1/image"},
		{name: "a field with an issue of rendering", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, items: []}",
			issues: []render.Issue{{Check: render.EmbeddedItems, Pointer: "/items"}}},
		{name: "an object of which only the name is known", object: "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
			issues: []render.Issue{{Check: deploys}}},
		{name: "removed", version: "1.33", object: "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget}",
			want: "removed-apis /apiVersion"},
		{name: "removed, of a group without other kinds", object: "{apiVersion: extensions/v1beta1, kind: Ingress}",
			want: "removed-apis /apiVersion"},
		{name: "deprecated", version: "1.24", object: "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget}",
			want: "deprecated-apis /apiVersion"},
		{name: "a kind of a later version", version: "1.29", object: "{apiVersion: admissionregistration.k8s.io/v1, " +
			"kind: ValidatingAdmissionPolicy}", want: "schema /apiVersion"},
		{name: "custom", object: strings.Replace(thing, "SPEC", "{size: a}", 1), want: "schema /spec/size"},
		{name: "custom, shrinks", object: strings.Replace(thing, "SPEC", "{size: 1}", 1),
			old: strings.Replace(thing, "SPEC", "{size: 2}", 1), want: "schema /spec"},
		{name: "custom, of another version", object: "{apiVersion: e.com/v2, kind: Thing}", want: "api-server /metadata\nschema /apiVersion"},
		{name: "an undeclared kind", object: "{apiVersion: e.com/v1, kind: Other, spec: {a: b}}"},
		{name: "custom, without a name", object: "{apiVersion: e.com/v1, kind: Thing, spec: {size: 1}}", want: "api-server /metadata"},
		{name: "a workload without selector", object: labelled, root: folder,
			want: "api-server /spec/selector\napi-server /spec/template/metadata/labels\n" +
				"api-server /spec/template/spec/containers/0/image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Deployed{Resource: render.NewResource(objectOf(t, c.object), file(c.path).Locate, c.issues...), Root: c.root}
			if c.old != "" {
				s.Old = render.NewResource(objectOf(t, c.old), file("").Locate)
			}
			if c.mutated != "" {
				s = s.Mutated(func(admission.Object) admission.Object { return objectOf(t, c.mutated) })
			}
			var got []string
			facts := Facts{Kubernetes: c.version, Cluster: definitions{crd}, Levels: settings.Checks{}}
			for _, check := range For(facts)[len(Always()):] {
				for _, v := range check.Violations(context.WithValue(t.Context(), noted{}, true), s) {
					got = append(got, check.Name+" "+v.Pointer)
				}
			}
			if s := strings.Join(got, "\n"); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

// A default that only later versions of Kubernetes give an object is no field that its author wrote.
func TestDefaultsOfLaterVersionsAreNotReported(t *testing.T) {
	for spec, want := range map[string]string{"{}": "", "{preventPodSchedulingIfMissing: true}": "schema /spec/preventPodSchedulingIfMissing"} {
		object := objectOf(t, "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: a}, spec: "+spec+"}")
		s := Deployed{Resource: render.NewResource(object, file("").Locate).Admitted(apiserver.Received(object))}
		var got []string
		for _, check := range For(Facts{Kubernetes: "1.30", Levels: settings.Checks{}})[len(Always()):] {
			for _, v := range check.Violations(context.WithValue(t.Context(), noted{}, true), s) {
				got = append(got, check.Name+" "+v.Pointer)
			}
		}
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("%s: got %q, want %q", spec, s, want)
		}
	}
}

// An incomplete object beside the patches of a kustomization may be another patch, unless something deploys it.
func TestIncompleteObjectsBesidePatchesAreNotReported(t *testing.T) {
	const (
		object = "\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {b: 1}}\nspec: {template: {spec: {containers: [{name: a}]}}}\n"
		kept   = "-- base/kustomization.yaml --\nresources: [a.yaml]\npatches: [{path: ../patch/a.yaml}]\n-- base/a.yaml --" +
			object + "-- patch/a.yaml --" + object
		flux = "-- flux.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: b, namespace: " +
			"flux-system}\nspec:\n  path: ./patch\n  prune: true\n  interval: 1m\n  sourceRef: {kind: GitRepository, name: flux-system}\n"
		label, spec = "/metadata/labels/b", "/spec/selector"
		layer       = "-- patch/kustomization.yaml --\nresources: [b.yaml]\n-- patch/b.yaml --" + object
	)
	varies := strings.Replace(flux, "./patch", "./${ENVIRONMENT}", 1)
	for _, c := range []struct {
		name, files string
		want        []string
	}{
		{"beside a patch", kept + "-- patch/b.yaml --" + object, []string{label}},
		{"no kustomization takes patches from its folder", "-- patch/b.yaml --" + object, []string{label, spec}},
		{"below a kustomization without patches in its folder", "-- kustomization.yaml --\nresources: [base]\n" +
			strings.Replace(kept, "patches: [{path: ../patch/a.yaml}]\n", "", 1) + "-- patch/b.yaml --" + object, []string{label}},
		{"an object deploys the folder", kept + "-- patch/b.yaml --" + strings.Replace(object, "name: a,", "name: b,", 1) + flux,
			[]string{label, spec}},
		{"of a kustomization", layer, []string{label, spec}},
		{"of a kustomization that an object may deploy", layer + varies, []string{label}},
		{"of a kustomization that an object deploys", layer + flux + strings.Replace(varies, "flux.yaml", "also.yaml", 1),
			[]string{label, spec}},
		{"of a kustomization that no object can deploy", layer + strings.Replace(varies, "./${", "./other/${", 1), []string{label, spec}},
		{"of a kustomization that is no root", strings.ReplaceAll(kept, "base/", "excluded/") + "-- patch/b.yaml --" + object,
			[]string{label}},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := treetest.New(t)
			options := roots.Options{Exclude: []string{"excluded", "excluded/**"}}
			set, err := deploy.Open(repo.Tree(repo.Commit(c.files)), options, &graph.Cache{}, render.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for _, root := range set.All() {
				if root.Path != "patch" {
					continue
				}
				var got []string
				for _, r := range areaOf(t, set, root).Resources {
					if r.Origin("").Path != "patch/b.yaml" {
						continue
					}
					for _, check := range For(Facts{}) {
						for _, v := range check.Violations(t.Context(), Deployed{Resource: r, Root: root}) {
							got = append(got, v.Pointer)
						}
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}
