package render

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/tree"
)

// Charts may look up objects in the cluster (lookup,
// https://helm.sh/docs/chart_template_guide/functions_and_pipelines/). These are answered from the kustomizations and
// manifests of the repository. The output of other charts and the changes of Argo CD and Flux are not looked into,
// since these may depend on the output of this chart.

// lookups caches the objects that a renderer can answer with, by apiVersion and kind.
type lookups struct {
	renderer *Renderer
	known    sync.Map // by apiVersion and kind: func() []declaredObject
}

type declaredObject struct {
	namespace, name string
	object          map[string]any
	from            wants // remote sources that the object's root uses
}

// lookUp answers what a chart looks up in the cluster; see helm.Options.Lookup. An object without a namespace matches
// any requested one, because its deployer decides the namespace. An object that two roots declare differently is not
// known, nor is an encrypted one. A list contains the known objects.
func (l *lookups) lookUp(apiVersion, kind, namespace, name string) (map[string]any, bool) {
	found := l.declaredAs(apiVersion, kind, namespace, name)
	if name == "" {
		if len(found) == 0 {
			return nil, false
		}
		items := make([]any, len(found))
		for i, o := range found {
			items[i] = runtime.DeepCopyJSON(o.object)
		}
		return map[string]any{"apiVersion": apiVersion, "kind": kind + "List", "metadata": map[string]any{"resourceVersion": ""},
			"items": items}, false
	}
	if len(found) == 0 || slices.ContainsFunc(found, func(o declaredObject) bool {
		return !reflect.DeepEqual(o.object, found[0].object)
	}) {
		return nil, false
	}
	return runtime.DeepCopyJSON(found[0].object), true // the chart may change the map
}

// declaredAs lists the objects that match a look-up.
func (l *lookups) declaredAs(apiVersion, kind, namespace, name string) (found []declaredObject) {
	for _, o := range l.declaredKind(apiVersion, kind) {
		if (name == "" || o.name == name) && (namespace == "" || o.namespace == "" || o.namespace == namespace) {
			found = append(found, o)
		}
	}
	return found
}

// declaredKind lists the objects of a kind that the repository declares.
func (l *lookups) declaredKind(apiVersion, kind string) []declaredObject {
	find, _ := l.known.LoadOrStore(apiVersion+" "+kind, sync.OnceValue(func() []declaredObject {
		return l.findDeclared(apiVersion, kind)
	}))
	return find.(func() []declaredObject)()
}

func (l *lookups) findDeclared(apiVersion, kind string) (list []declaredObject) {
	add := func(resources []*Resource, from wants) {
		for _, res := range resources {
			metadata, _ := res.Object["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			namespace, _ := metadata["namespace"].(string)
			_, encrypted := res.Object["sops"]
			if res.Object["apiVersion"] == apiVersion && res.Object["kind"] == kind && name != "" && !encrypted {
				list = append(list, declaredObject{namespace, name, res.Object, from})
			}
		}
	}
	kustomizations, files := l.renderer.index.Declaring(kind)
	for _, root := range kustomizations {
		if out, _, err := l.renderer.once(context.Background(), Target{Root: root}, kind); err == nil { // its problems are reported when it is checked
			add(out.Resources, out.wants)
		}
	}
	for _, p := range files {
		if resources, _, _, err := l.renderer.Manifest(p); err == nil {
			add(resources, nil)
		}
	}
	slices.SortStableFunc(list, func(a, b declaredObject) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return list
}

// answer returns a digest of what a look-up returns.
func (l *lookups) answer(asked helm.Lookup) string {
	found, _ := l.lookUp(asked.APIVersion, asked.Kind, asked.Namespace, asked.Name)
	data, _ := json.Marshal(found)
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// askedVersions is what a chart asked about the API versions of its cluster.
type askedVersions struct {
	Versions []string `json:"versions,omitempty"` // sorted
	Listed   bool     `json:"listed,omitempty"`   // it may have read the whole list
}

// add adds what the chart asked in one rendering.
func (a *askedVersions) add(out *helm.Output) {
	a.Versions = slices.Concat(a.Versions, out.Absent, out.Present)
	slices.Sort(a.Versions)
	a.Versions = slices.Compact(a.Versions)
	a.Listed = a.Listed || out.Listed
}

// versionsDeclared is a digest of what the repository declares about the API versions that a chart asked for. API
// versions that the chart itself installs are not in it: the chart's files account for them.
func (r *Renderer) versionsDeclared(a askedVersions) string {
	declared := r.declared()
	if !a.Listed {
		declared = slices.DeleteFunc(slices.Clone(a.Versions), func(version string) bool {
			_, has := slices.BinarySearch(r.declared(), version)
			return !has
		})
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", declared)))
}

// DeclaresOther reports whether two renderers see different API versions, since some changed files of either tree define
// custom resources.
func DeclaresOther(base, head *Renderer, changed []string) bool {
	defines := func(r *Renderer) bool {
		files := r.index.Mentions("CustomResourceDefinition")
		return slices.ContainsFunc(changed, func(p string) bool { return slices.Contains(files, p) })
	}
	return (defines(base) || defines(head)) && !slices.Equal(base.declared(), head.declared())
}

// versions returns the version of Kubernetes and the API versions that a chart sees in a cluster. The API versions are
// those of Kubernetes, those in the settings of the cluster, those that the repository declares, and those that the
// chart installs first. Versions in the object that deploys the release replace those of the cluster.
func (s *release) versions(c Cluster) (kubernetes string, versions []string) {
	kubernetes = cmp.Or(s.spec.Kubernetes, c.Kubernetes)
	if len(s.spec.APIVersions) > 0 {
		return kubernetes, s.spec.APIVersions
	}
	versions = slices.Concat(helm.KubernetesKinds(kubernetes), c.APIVersions, s.renderer.declared())
	if !s.spec.SkipCRDs {
		for _, f := range s.chart.CRDs(s.values.Map) {
			versions = append(versions, crdVersions(f.Data)...)
		}
	}
	slices.Sort(versions)
	return kubernetes, slices.Compact(versions)
}

// findVersions lists the API versions of the custom resource definitions that the repository declares, sorted.
func (r *Renderer) findVersions() (list []string) {
	for _, p := range r.index.Mentions("CustomResourceDefinition") {
		if !r.index.Manifest(p) {
			continue
		}
		_, e, err := r.tree.Lookup(p)
		if err != nil || e.Kind != tree.File {
			continue
		}
		known, ok := env.Get[[]string](r.cache.Memory(), definitionsTable, e.ID, nil)
		if !ok {
			data, _, err := r.tree.ReadFile(p)
			if err != nil {
				continue // another check reports the file
			}
			known = crdVersions(data)
			env.Put(r.cache.Memory(), definitionsTable, e.ID, nil, known)
		}
		list = append(list, known...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// crdVersions lists what the custom resource definitions in a file add to the API versions of a cluster.
func crdVersions(data []byte) (list []string) {
	if !bytes.Contains(data, []byte("CustomResourceDefinition")) {
		return nil
	}
	documents, err := doc.Parse("", shallow(data), doc.Limits{})
	if err != nil {
		if documents, err = doc.Parse("", data, doc.Limits{}); err != nil {
			return nil
		}
	}
	for n := range doc.Objects(documents) {
		if doc.Text(n, "kind") == "CustomResourceDefinition" {
			list = append(list, definedVersions(n)...)
		}
	}
	return list
}

// shallow returns a file without its deeply indented lines. Nearly all of a custom resource definition is its schema,
// which is not needed here. Files in another style may become invalid YAML; these are parsed whole.
func shallow(data []byte) []byte {
	const deep = "        " // spec: versions: - schema: openAPIV3Schema: description
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte(deep)) {
			out.Write(line)
		}
	}
	return out.Bytes()
}

func definedVersions(crd *yaml.Node) (list []string) {
	_, spec := doc.Field(crd, "spec")
	group, kind := doc.Text(spec, "group"), doc.Text(spec, "names", "kind")
	if group == "" || kind == "" {
		return nil
	}
	versions := []string{doc.Text(spec, "version")} // for apiextensions.k8s.io/v1beta1
	for _, v := range doc.Items(spec, "versions") {
		if doc.Text(v, "served") != "false" {
			versions = append(versions, doc.Text(v, "name"))
		}
	}
	for _, v := range versions {
		if v != "" && !strings.ContainsAny(v, "{}") {
			list = append(list, group+"/"+v, group+"/"+v+"/"+kind)
		}
	}
	return list
}
