package mutate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
)

// JSONPatch applies a JSON patch (RFC 6902), given as the list of its operations, to the letter: the parents of
// what is added have to be there, and so has what is removed. A failed test operation leaves the object as it
// is. The object is not changed, the result shares nothing with it.
func JSONPatch(object admission.Object, operationList []any) (admission.Object, error) {
	o, err := operations(operationList)
	if err != nil {
		return object, err
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = true
	options.AccumulatedCopySizeLimit = maxPatch
	out, err := o.applyWith(object, options)
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return object, nil
	}
	return out, err
}

// Configuration merges an apply configuration into an object by the rules of server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy): maps field by field, lists
// that have keys element by element with new elements at the end, sets by what they lack. A list or map that
// can only be replaced as a whole is refused, as the API server refuses it in a mutation, unless replace is
// set. Kinds of other groups have no schema here: their lists are replaced. The inputs are not changed.
func Configuration(object, configuration admission.Object, replace bool) (admission.Object, error) {
	id := admission.IdentityOf(object)
	m := merger{kind: id.Kind, builtin: builtinGroup(id.Group), applies: true, replace: replace}
	out, err := m.merge(map[string]any(object), map[string]any(configuration), field{}, 0)
	if err != nil {
		return object, err
	}
	return out.(map[string]any), nil //nolint:forcetypeassert // maps merge to a map
}

func (m merger) refuse(at field) error {
	if m.replace {
		return nil
	}
	return fmt.Errorf("the apply configuration sets %s of %s, which can only be replaced as a whole: write a JSON patch",
		at.name, cmp.Or(at.parent, "the object"))
}

// atomicMap reports whether a map is replaced as a whole: it has x-kubernetes-map-type atomic in the types of
// Kubernetes.
func (m merger) atomicMap(at field) bool {
	if !m.builtin {
		return false
	}
	switch at.name {
	case "nodeSelector", "selector", "labelSelector", "namespaceSelector", "podSelector", "objectSelector",
		"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "roleRef", "scopeSelector":
		return true
	}
	return false
}

func (m merger) applyList(have, next []any, at field, depth int) (any, error) {
	if at.name == "finalizers" {
		return explain.Union(slices.Clone(have), next), nil
	}
	keys := m.mergeKeys(at, slices.Concat(have, next))
	if keys == nil {
		if m.builtin {
			return next, m.refuse(at)
		}
		return next, nil
	}
	index := map[string]int{}
	out := slices.Clone(have)
	for i, e := range out {
		index[identity(e, keys)] = i
	}
	for _, e := range next {
		id := identity(e, keys)
		i, found := index[id]
		var current any
		if found {
			current = out[i]
		}
		merged, err := m.merge(current, e, at.element(), depth+1)
		if err != nil {
			return nil, err
		}
		if found {
			out[i] = merged
			continue
		}
		index[id] = len(out)
		out = append(out, merged)
	}
	return out, nil
}

// identity returns the keys of an element as text. A missing protocol counts as TCP.
func identity(element any, keys []string) string {
	o, _ := element.(map[string]any)
	var b strings.Builder
	for _, k := range keys {
		v := o[k]
		if v == nil && k == "protocol" {
			v = "TCP"
		}
		fmt.Fprintf(&b, "%v\x00", v)
	}
	return b.String()
}
