package mutate

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
)

// merger merges patches into objects of one kind like Kubernetes' strategic merge
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/).
type merger struct {
	kind    string
	builtin bool // kinds of other groups have no merge keys: their lists are replaced
	applies bool // like server-side apply instead: see Configuration
	replace bool // what is atomic may be applied
}

// builtinGroup reports whether an API group belongs to Kubernetes itself.
func builtinGroup(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && group != "gateway.networking.k8s.io" &&
		group != "metrics.k8s.io"
}

// field identifies a field by its name and the name of its parent; elements of lists have the name of the list.
type field struct{ name, parent string }

func (f field) child(name string) field { return field{name: name, parent: f.name} }
func (f field) element() field          { return f }

// mergeKeys returns the keys that identify the elements of a list, none for a list that is replaced. They are
// x-kubernetes-list-map-keys in the types of Kubernetes that have a patchStrategy. Each element has the first of them.
func (m merger) mergeKeys(f field, elements []any) []string {
	if !m.builtin {
		return nil
	}
	key, more := "", ""
	switch f.name {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "resourceClaims",
		"schedulingGates", "webhooks", "secrets", "validations":
		key = "name"
	case "ports":
		switch {
		case f.parent == "containers" || f.parent == "initContainers" || f.parent == "ephemeralContainers":
			key, more = "containerPort", "protocol"
		case m.kind == "Service":
			key, more = "port", "protocol"
		}
	case "volumeMounts":
		key = "mountPath"
	case "volumeDevices":
		key = "devicePath"
	case "hostAliases":
		key = "ip"
	case "topologySpreadConstraints":
		key, more = "topologyKey", "whenUnsatisfiable"
	case "ownerReferences":
		key = "uid"
	case "conditions":
		key = "type"
	}
	if key == "" {
		return nil
	}
	for _, e := range elements {
		if o, ok := e.(map[string]any); !ok || o[key] == nil {
			return nil
		}
	}
	if more != "" {
		return []string{key, more}
	}
	return []string{key}
}

// directive is the key of the special instructions of a strategic merge patch.
const directive = "$patch"

// merge returns the object with the patch applied. Neither is changed.
func (m merger) merge(object, patch any, at field, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch p := patch.(type) {
	case map[string]any:
		switch {
		case m.applies && m.atomicMap(at):
			return p, m.refuse(at)
		case m.applies:
		case p[directive] == "delete":
			return nil, nil
		case p[directive] == "replace":
			out := maps.Clone(p)
			delete(out, directive)
			return out, nil
		}
		have, _ := object.(map[string]any)
		out := maps.Clone(have)
		if out == nil {
			out = make(map[string]any, len(p))
		}
		for k, v := range p {
			if k == directive && !m.applies {
				continue
			}
			value, err := m.merge(have[k], v, at.child(k), depth+1)
			if err != nil {
				return nil, err
			}
			if out[k] = value; value == nil && !m.applies {
				delete(out, k)
			}
		}
		return out, nil
	case []any:
		have, _ := object.([]any)
		if m.applies {
			return m.applyList(have, p, at, depth)
		}
		return m.mergeList(have, p, at, depth)
	}
	return patch, nil
}

func (m merger) mergeList(have, patch []any, at field, depth int) (any, error) {
	if m.builtin && at.name == "finalizers" {
		return explain.Union(explain.Union(nil, patch), have), nil
	}
	patch, replace := cutDirective(patch)
	keys := m.mergeKeys(at, slices.Concat(have, patch))
	if replace || keys == nil {
		// Directives inside a new value have nothing to change.
		out := make([]any, 0, len(patch))
		for _, v := range patch {
			value, err := m.merge(nil, v, at.element(), depth+1)
			if err != nil {
				return nil, err
			}
			if value != nil {
				out = append(out, value)
			}
		}
		return out, nil
	}
	// The elements that the patch names come first, in its order, and then the others, as kustomize merges for Kyverno
	// (MergeOptionsListPrepend of sigs.k8s.io/kustomize/kyaml). There, an element that lacks the second key is the same as
	// one that has it (match in yaml/walk/associative_sequence.go).
	rest := slices.Clone(have)
	var out []any
	for _, v := range patch {
		p, _ := v.(map[string]any)
		same := func(o any) bool {
			m := o.(map[string]any) //nolint:forcetypeassert // mergeKeys saw to it
			return !slices.ContainsFunc(keys, func(key string) bool {
				return m[key] != nil && p[key] != nil && !reflect.DeepEqual(m[key], p[key])
			})
		}
		var current any
		again := slices.IndexFunc(out, same)
		if again >= 0 {
			current = out[again]
		} else if i := slices.IndexFunc(rest, same); i >= 0 {
			current = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
		value, err := m.merge(current, v, at.element(), depth+1)
		switch {
		case err != nil:
			return nil, err
		case again >= 0 && value == nil:
			out = slices.Delete(out, again, again+1)
		case again >= 0:
			out[again] = value
		case value != nil:
			out = append(out, value)
		}
	}
	return append(out, rest...), nil
}

// cutDirective removes {$patch: replace} from a list.
func cutDirective(patch []any) (rest []any, replace bool) {
	for _, v := range patch {
		if o, ok := v.(map[string]any); ok && len(o) == 1 && o[directive] == "replace" {
			replace = true
			continue
		}
		rest = append(rest, v)
	}
	return rest, replace
}
