package render

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/render/helm"
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
		if out, _, err := l.renderer.once(context.Background(), Target{Root: root}); err == nil { // its problems are reported when it is checked
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
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
