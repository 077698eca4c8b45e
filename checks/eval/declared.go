package eval

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Objects are declared objects of a cluster. They answer look-ups, and are safe for concurrent use after the last Add.
type Objects struct {
	kinds  map[kind][]admission.Object
	images map[string]map[string]any // what a registry returns for them
	whole  bool
}

type kind struct{ group, kind string }

var _ admission.Cluster = (*Objects)(nil)

// Declare reads declared objects. From files of cli.kyverno.io it takes the objects in them (ClusterResource, Context);
// the images of a Context replace answers of a registry (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/,
// apis/v1alpha1/context.go of Kyverno).
func Declare(sources ...rules.File) (*Objects, []policy.Problem) {
	c := &Objects{kinds: map[kind][]admission.Object{}, images: map[string]map[string]any{}}
	all, problems := allObjects(sources...)
	for _, o := range all {
		if !isInput(o) {
			c.Add(o)
			continue
		}
		spec, _ := o["spec"].(map[string]any)
		list, _ := spec["resources"].([]any)
		for _, item := range list {
			if m, ok := item.(map[string]any); ok {
				c.Add(m)
			}
		}
		images, _ := spec["images"].([]any)
		for _, item := range images {
			m, _ := item.(map[string]any)
			name, ok := m["image"].(string)
			if !ok {
				continue
			}
			for _, k := range []string{"resolvedImage", "registry", "repository"} {
				if _, ok := m[k]; !ok {
					m[k] = "" // these exist in every cluster
				}
			}
			c.images[name] = m
		}
	}
	return c, problems
}

// Secrets adds the values of the declared Secrets to v.
func (c *Objects) Secrets(v *mask.Values) {
	for _, list := range c.kinds {
		for _, o := range list {
			v.Object(o)
		}
	}
}

// Complete says that the cluster has no other objects, as in a test of the kyverno command: an undeclared object does
// not exist, instead of being unknown.
func (c *Objects) Complete() { c.whole = true }

// Whole reports whether [Objects.Complete] was called.
func (c *Objects) Whole() bool { return c != nil && c.whole }

// ImageData is the declared answer of the registry for an image.
func (c *Objects) ImageData(image string) (map[string]any, bool) {
	if c == nil {
		return nil, false
	}
	data, ok := c.images[image]
	return data, ok
}

// Add declares one more object. A namespaced one without a namespace is in "default".
func (c *Objects) Add(o admission.Object) {
	Default(o)
	id := admission.IdentityOf(o)
	k := kind{id.Group, id.Kind}
	c.kinds[k] = append(c.kinds[k], o)
}

// Empty reports whether nothing is declared.
func (c *Objects) Empty() bool {
	return c == nil || len(c.kinds) == 0 && len(c.images) == 0 && !c.whole
}

// Get implements admission.Cluster.
func (c *Objects) Get(_ context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	return c.get(group, kind, namespace, name)
}

func (c *Objects) get(group, of, namespace, name string) (admission.Object, bool) {
	return declared.Find(c.all(group, of), namespace, name)
}

// KindOf returns the kind of declared objects with a plural name in a group; empty if there are none.
func (c *Objects) KindOf(group, plural string) string {
	if c == nil {
		return ""
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.kinds), func(a, b kind) int { return cmp.Compare(a.kind, b.kind) }) {
		if k.group == group && kinds.PluralOf(group, k.kind) == plural {
			return k.kind
		}
	}
	return ""
}

// List implements admission.Cluster.
func (c *Objects) List(_ context.Context, group, of, namespace string) []admission.Object {
	return declared.In(c.all(group, of), namespace)
}

func (c *Objects) all(group, of string) []admission.Object {
	if c == nil {
		return nil
	}
	return c.kinds[kind{group, of}]
}

// Default sets the namespace of a namespaced object without one to "default", as kubectl does. Custom resources count
// as namespaced.
func Default(o admission.Object) {
	meta, ok := o["metadata"].(map[string]any)
	if !ok || meta["namespace"] != nil {
		return
	}
	if id := admission.IdentityOf(o); !kinds.ClusterScoped(id.Group, id.Kind) {
		meta["namespace"] = "default"
	}
}
