package cel

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
)

var stringMap = reflect.TypeFor[map[string]string]()

// lookUp evaluates resource.Get, List, Post and ToGVR with the objects that the repository declares. A policy in a
// namespace may leave the namespace out.
func (a *activation) lookUp(name string, args []ref.Val) ref.Val {
	s := a.state
	group, plural, rest, ok := s.groupResource(args)
	switch strings.ToLower(name) {
	case "togvr":
		if len(args) != 2 {
			return types.NoSuchOverloadErr()
		}
		version, ok1 := args[0].(types.String)
		kind, ok2 := args[1].(types.String)
		if !ok1 || !ok2 {
			return types.NoSuchOverloadErr()
		}
		g, v := admission.SplitVersion(string(version))
		plural := kinds.PluralOf(g, string(kind))
		if s.asked == nil {
			s.asked = map[[2]string]string{}
		}
		s.asked[[2]string{g, plural}] = string(kind)
		return types.DefaultTypeAdapter.NativeToValue(map[string]string{"group": g, "version": v, "resource": plural})
	case "get":
		if !ok || len(rest) < 1 || len(rest) > 2 {
			return types.NoSuchOverloadErr()
		}
		namespace := s.namespace
		if len(rest) == 2 {
			namespace = rest[0]
		}
		return a.get(group, plural, namespace, rest[len(rest)-1])
	case "list":
		selector, args := labelArgument(args)
		if selector != nil {
			group, plural, rest, ok = s.groupResource(args)
		}
		if !ok || len(rest) > 1 {
			return types.NoSuchOverloadErr()
		}
		namespace := s.namespace
		if len(rest) == 1 {
			namespace = rest[0]
		}
		if s.env.Cluster == nil {
			return s.need("list of " + plural)
		}
		kind := a.kindOf(group, plural)
		objects := s.env.Cluster.List(a.ctx, group, kind, namespace)
		switch {
		case len(objects) > 0:
		case s.whole() && len(s.env.Cluster.List(a.ctx, group, kind, "")) == 0:
			return types.NewErr("%s resource not found", plural)
		case !s.whole() && !admission.Removed(a.ctx, s.env.Cluster, group, kind, namespace, ""):
			return s.need(strings.TrimSpace("list of " + plural + " " + namespace))
		}
		items := make([]any, 0, len(objects))
		for _, o := range objects {
			if selector == nil || selector.Matches(admission.LabelsOf(o)) {
				items = append(items, s.found(o))
			}
		}
		return types.DefaultTypeAdapter.NativeToValue(map[string]any{"items": items})
	case "post":
		return s.need("an API call to create " + plural)
	}
	return types.NoSuchOverloadErr()
}

func (a *activation) get(group, plural, namespace, name string) ref.Val {
	s := a.state
	kind := a.kindOf(group, plural)
	if s.env.Cluster != nil {
		if o, ok := s.env.Cluster.Get(a.ctx, group, kind, namespace, name); ok {
			return types.DefaultTypeAdapter.NativeToValue(s.found(o))
		}
	}
	if s.whole() || admission.Removed(a.ctx, s.env.Cluster, group, kind, namespace, name) {
		return types.NullValue // which is what Kyverno gives for what does not exist
	}
	if namespace != "" {
		name = namespace + "/" + name
	}
	return s.need(cmp.Or(kind, plural) + " " + name)
}

// found returns an object that was looked up, as expressions see it.
func (s *evaluation) found(o admission.Object) admission.Object {
	if !s.request.Applied {
		return o
	}
	out := live(o, nil)
	if has, _ := o["status"].(map[string]any); len(has) > 0 { // of context, or written
		out["status"] = has
	}
	return out
}

// whole reports whether the cluster is known to have only declared objects.
func (s *evaluation) whole() bool {
	c, ok := s.env.Cluster.(interface{ Whole() bool })
	return ok && c.Whole()
}

// imageData evaluates image.GetMetadata with the images that a test declares; otherwise only a registry has the data.
func (s *evaluation) imageData(name string, args []ref.Val) ref.Val {
	if !strings.EqualFold(name, "GetMetadata") || len(args) != 1 {
		return types.NoSuchOverloadErr()
	}
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	if known, ok := s.env.Cluster.(interface {
		ImageData(image string) (map[string]any, bool)
	}); ok {
		if data, ok := known.ImageData(string(text)); ok {
			return types.DefaultTypeAdapter.NativeToValue(data)
		}
	}
	return s.need("the metadata of an image")
}

// kindOf returns the kind with a plural name: the one that ToGVR was called with, or a declared one; empty if it is
// unknown, and so is the result of the look-up.
func (a *activation) kindOf(group, plural string) string {
	if kind := a.state.asked[[2]string{group, plural}]; kind != "" {
		return kind
	}
	return kinds.In(a.ctx, a.state.env.Cluster, group, plural)
}

// labelArgument reads the optional labels argument of resource.List.
func labelArgument(args []ref.Val) (labels.Selector, []ref.Val) {
	if len(args) < 2 {
		return nil, args
	}
	if _, isMap := args[len(args)-1].(traits.Mapper); !isMap {
		return nil, args
	}
	native, err := args[len(args)-1].ConvertToNative(stringMap)
	if err != nil {
		return nil, args
	}
	set := native.(map[string]string) //nolint:forcetypeassert // ConvertToNative was asked for it
	return labels.SelectorFromSet(set), args[:len(args)-1]
}

// groupResource reads the first arguments of a look-up: an API version and a plural, or what ToGVR gives.
func (s *evaluation) groupResource(args []ref.Val) (group, plural string, rest []string, ok bool) {
	if len(args) == 0 {
		return "", "", nil, false
	}
	skip := 1
	if version, isText := args[0].(types.String); isText {
		if len(args) < 2 {
			return "", "", nil, false
		}
		name, isText := args[1].(types.String)
		if !isText {
			return "", "", nil, false
		}
		group, _ = admission.SplitVersion(string(version))
		plural, skip = string(name), 2
	} else if gvr, err := args[0].ConvertToNative(stringMap); err == nil {
		m := gvr.(map[string]string) //nolint:forcetypeassert // ConvertToNative was asked for it
		group, plural = m["group"], m["resource"]
	} else {
		return "", "", nil, false
	}
	for _, arg := range args[skip:] {
		text, isText := arg.(types.String)
		if !isText {
			return group, plural, nil, false
		}
		rest = append(rest, string(text))
	}
	return group, plural, rest, true
}
