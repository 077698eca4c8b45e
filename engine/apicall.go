package engine

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/variable"
)

// lookupPath is the parsed path of a GET of the Kubernetes API
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris).
type lookupPath struct {
	group, version, namespace, resource, name string
	selector                                  labels.Selector
}

func parseLookup(urlPath string) (lookupPath, error) {
	var out lookupPath
	u, err := url.Parse(strings.TrimSpace(urlPath))
	if err != nil {
		return out, fmt.Errorf("the URL path %q cannot be read", urlPath)
	}
	parts := strings.Split(strings.Trim(path.Clean("/"+u.Path), "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		out.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		out.group, out.version, parts = parts[1], parts[2], parts[3:]
	default:
		return out, fmt.Errorf("the URL path %q names no resource", urlPath)
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		out.namespace, parts = parts[1], parts[2:]
	}
	out.resource = parts[0]
	if len(parts) > 1 {
		out.name = parts[1]
	}
	if len(parts) > 2 {
		return out, fmt.Errorf("the URL path %q names a subresource", urlPath)
	}
	for key, values := range u.Query() {
		switch key {
		case "labelSelector":
			if out.selector, err = labels.Parse(values[0]); err != nil {
				return out, fmt.Errorf("the label selector %q cannot be read", values[0])
			}
		case "limit", "resourceVersion", "resourceVersionMatch":
		default:
			return out, fmt.Errorf("the URL path %q has a parameter that Lintel does not support", urlPath)
		}
	}
	return out, nil
}

func (e *entry) loadAPICall(s *variable.Scope) (any, error) {
	urlPath, err := resolveText(e.object, s, "the URL path of context entry "+e.name)
	if err != nil {
		return nil, err
	}
	needs := &admission.NeedsClusterError{What: "GET " + urlPath}
	l, err := parseLookup(urlPath)
	if err != nil {
		return nil, needs
	}
	if e.policySpace != "" && l.namespace != e.policySpace {
		return nil, fmt.Errorf("path %s refers to namespace %q, which is different from the policy namespace %s", urlPath,
			l.namespace, e.policySpace)
	}
	found, err := l.answer(s)
	if found == nil {
		return nil, cmp.Or[error](err, needs)
	}
	if e.path == nil {
		return found, nil
	}
	q, err := e.path.expression(s, e.name)
	if err != nil {
		return nil, err
	}
	out, err := q.Search(s.Context(), found, s.Env())
	if err != nil {
		return nil, fmt.Errorf("failed to apply JMESPath %s for context entry %s: %w", q, e.name, err)
	}
	return out, nil
}

// answer is the object or list that the repository declares, nil if it declares none: then it is unknown what the
// cluster has, unless the change removes the object.
func (l lookupPath) answer(s *variable.Scope) (any, error) {
	cluster := s.Cluster()
	kind := kinds.In(s.Context(), cluster, l.group, l.resource)
	if cluster == nil || kind == "" {
		return nil, nil
	}
	if l.name != "" {
		if object, ok := cluster.Get(s.Context(), l.group, kind, l.namespace, l.name); ok {
			return admission.Found(object), nil
		}
		if admission.Removed(s.Context(), cluster, l.group, kind, l.namespace, l.name) {
			return nil, fmt.Errorf("%s %q not found", l.resource, l.name)
		}
		return nil, nil
	}
	items := []any{}
	declared := cluster.List(s.Context(), l.group, kind, l.namespace)
	for _, object := range declared {
		if l.selector == nil || l.selector.Matches(admission.LabelsOf(object)) {
			items = append(items, admission.Found(object))
		}
	}
	if len(declared) == 0 && !admission.Removed(s.Context(), cluster, l.group, kind, l.namespace, "") {
		return nil, nil
	}
	id := admission.Identity{Group: l.group, Version: l.version}
	return map[string]any{"apiVersion": id.APIVersion(), "kind": kind + "List", "metadata": map[string]any{},
		"items": items}, nil
}
