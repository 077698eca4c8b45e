package origin

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
)

// patchStrategic runs an entry of patchesStrategicMerge: a path or a document.
func (s *transformation) patchStrategic(c config, items []*item) []*item {
	for _, d := range s.patchDocuments(c, c.node, c.node.Value) {
		items = s.merge(c, d, nil, items)
	}
	return items
}

// patch runs an entry of patches or patchesJson6902.
func (s *transformation) patch(c config, items []*item) []*item {
	_, inline := doc.Field(c.node, "patch")
	_, target := doc.Field(c.node, "target")
	return s.patchWith(c, inline, doc.Text(c.node, "path"), target, items)
}

func (s *transformation) patchWith(c config, inline *yaml.Node, file string, target *yaml.Node, items []*item) []*item {
	for _, d := range s.patchDocuments(c, inline, file) {
		if d.node.Kind == yaml.SequenceNode {
			for _, i := range selected(target, items) {
				i.remember()
				s.operations(mark{path: d.path, how: Writer, role: "patch"}, d.node, i)
				i.remember()
			}
			continue
		}
		items = s.merge(c, d, target, items)
	}
	return items
}

// patchDocuments returns the documents of a patch: those of the file that it names, else those in the scalar.
func (s *transformation) patchDocuments(c config, inline *yaml.Node, file string) []document {
	if file != "" && !strings.Contains(file, "\n") && !strings.Contains(file, ": ") {
		name := c.layer.sibling(file)
		return inFile(name, s.b.text(name).documents())
	}
	if inline != nil && inline.Kind == yaml.ScalarNode {
		return inFile(c.path, s.b.text(c.path).inner(inline).documents())
	}
	return nil
}

// merge runs one strategic-merge patch. It keeps the identity of the resource, unless its options allow a change.
func (s *transformation) merge(c config, d document, target *yaml.Node, items []*item) []*item {
	if d.node.Kind != yaml.MappingNode {
		return items
	}
	w := mark{path: d.path, how: Writer, role: "patch"}
	var chosen []*item
	if target != nil {
		chosen = selected(target, items)
	} else {
		chosen = named(d.node, items)
	}
	options := func(name string) bool { return doc.Text(c.node, "options", name) == "true" }
	for _, i := range chosen {
		if !s.room() {
			return items
		}
		patch := s.made(w.value(d.node, nil))
		if patch.str("$patch") == "delete" {
			items = slices.DeleteFunc(slices.Clone(items), func(other *item) bool { return other == i })
			continue
		}
		if patch.str("$patch") == "replace" {
			continue // kustomize replaces a copy
		}
		group, _ := resid.ParseGroupVersion(i.id().apiVersion)
		patch.drop("apiVersion")
		if !options("allowKindChange") {
			patch.drop("kind")
		}
		if meta := patch.get("metadata"); meta != nil {
			meta.drop("namespace")
			if !options("allowNameChange") {
				meta.drop("name")
			}
		}
		i.remember()
		mergeMaps(i.root, patch, builtinGroup(group))
		i.remember()
	}
	return items
}

// named lists the items that a patch without a target applies to: those that have or had its identity.
func named(patch *yaml.Node, items []*item) (list []*item) {
	id := identity{doc.Text(patch, "apiVersion"), doc.Text(patch, "kind"), doc.Text(patch, "metadata", "name"),
		doc.Text(patch, "metadata", "namespace")}
	for _, i := range items {
		if i.was(id) {
			list = append(list, i)
		}
	}
	return list
}

// builtinGroup reports whether an API group is part of Kubernetes, whose lists have merge keys.
func builtinGroup(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && group != "gateway.networking.k8s.io" &&
		!strings.HasSuffix(group, ".x-k8s.io")
}

// mergeKeys returns the keys that may identify an element of a list in a strategic merge
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/, "patch strategy: merge"). Other lists are replaced
// as a whole.
func mergeKeys(list string) []string {
	switch list {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "secrets",
		"webhooks", "resourceClaims", "versions":
		return []string{"name"}
	case "ports":
		return []string{"containerPort", "port"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "volumeDevices":
		return []string{"devicePath"}
	case "hostAliases":
		return []string{"ip"}
	case "topologySpreadConstraints":
		return []string{"topologyKey"}
	case "conditions":
		return []string{"type"}
	}
	return nil
}

// mergeMaps merges a patch into a map: null removes, maps merge, and other values replace
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md).
func mergeMaps(into, patch *value, lists bool) {
	if into.kind != yaml.MappingNode || patch.kind != yaml.MappingNode {
		return
	}
	switch patch.str("$patch") {
	case "replace":
		into.fields, into.by = nil, patch.by
	case "delete":
		into.fields = nil
		return
	}
	for _, f := range patch.fields {
		if f.key == "$patch" { // kustomize takes all other directives for fields
			continue
		}
		have := into.get(f.key)
		switch {
		case f.value.kind == yaml.ScalarNode && f.value.null:
			into.take(f.key, f.value.by)
		case have == nil:
			into.put(f.key, strip(f.value))
		case have.kind == yaml.MappingNode && f.value.kind == yaml.MappingNode:
			if f.value.str("$patch") == "delete" {
				into.take(f.key, f.value.by)
				continue
			}
			mergeMaps(have, f.value, lists)
		case have.kind == yaml.SequenceNode && f.value.kind == yaml.SequenceNode && lists && mergeKeys(f.key) != nil:
			mergeLists(have, f.value, mergeKeys(f.key))
		default:
			into.set(f.key, strip(f.value))
		}
	}
}

// mergeLists merges elements with the same key. Elements of the patch come first, as in kustomize.
func mergeLists(into, patch *value, keys []string) {
	var first []*value
	for _, p := range patch.items {
		if p.kind != yaml.MappingNode {
			if !slices.ContainsFunc(into.items, func(v *value) bool { return v.text == p.text }) {
				first = append(first, p)
			}
			continue
		}
		if p.str("$patch") == "replace" && len(p.fields) == 1 {
			into.items = nil
			continue
		}
		key := ""
		for _, k := range keys {
			if key == "" && p.get(k) != nil {
				key = k
			}
		}
		if key == "" {
			if p.get("$patch") == nil {
				first = append(first, strip(p))
			}
			continue
		}
		at := slices.IndexFunc(into.items,
			func(v *value) bool { return v.kind == yaml.MappingNode && v.str(key) == p.str(key) })
		switch {
		case p.str("$patch") == "delete" && at >= 0:
			into.items = slices.Delete(into.items, at, at+1)
		case p.str("$patch") == "delete":
		case at >= 0:
			v := into.items[at]
			into.items = slices.Delete(into.items, at, at+1)
			if p.str("$patch") != "replace" { // kustomize ignores "replace" for elements with a name
				mergeMaps(v, p, true)
			}
			first = append(first, v)
		default:
			first = append(first, strip(p))
		}
	}
	into.items = append(first, into.items...)
}

// strip removes the directive and nulls of a patch that replaces a missing value.
func strip(v *value) *value {
	v.fields = slices.DeleteFunc(v.fields, func(f field) bool {
		return f.key == "$patch" || f.value.kind == yaml.ScalarNode && f.value.null
	})
	for _, f := range v.fields {
		strip(f.value)
	}
	v.items = slices.DeleteFunc(v.items, func(item *value) bool {
		return item.kind == yaml.MappingNode && item.get("$patch") != nil
	})
	for _, item := range v.items {
		strip(item)
	}
	return v
}

// operations runs a JSON patch (RFC 6902) on a resource.
func (s *transformation) operations(w mark, patch *yaml.Node, i *item) {
	if i.shares { // kustomize prints the resource and parses it again
		i.root, i.shares = i.root.clone(), false
	}
	for _, op := range patch.Content {
		op = doc.Deref(op)
		to := doc.Tokens(doc.Text(op, "path"))
		if len(to) == 0 || !s.room() {
			continue
		}
		switch name := doc.Text(op, "op"); name {
		case "add", "replace":
			if key, n := doc.Field(op, "value"); n != nil {
				insert(i.root, to, s.made(w.value(n, key)), name == "replace")
			}
		case "remove":
			remove(i.root, to, w.lines(op))
		case "move":
			if v := remove(i.root, doc.Tokens(doc.Text(op, "from")), w.lines(op)); v != nil {
				insert(i.root, to, v, false)
			}
		case "copy":
			if v := lookup(i.root, doc.Tokens(doc.Text(op, "from"))); v != nil {
				if v = s.copyOf(v); v != nil {
					insert(i.root, to, v, false)
				}
			}
		}
	}
}

// copyOf copies a value; nil where the limit of the simulation is reached.
func (s *transformation) copyOf(v *value) *value {
	n := v.size(maxValues)
	if s.copied += n; s.copied > maxValues {
		return nil
	}
	return v.clone()
}

func lookup(v *value, path []string) *value {
	for _, token := range path {
		switch {
		case v == nil:
			return nil
		case v.kind == yaml.SequenceNode:
			k := nth(token, len(v.items))
			if k < 0 || k >= len(v.items) {
				return nil
			}
			v = v.items[k]
		default:
			v = v.get(token)
		}
	}
	return v
}

// parent returns the container of the last element of a path.
func parent(root *value, path []string) (*value, string) {
	if len(path) == 0 {
		return nil, ""
	}
	return lookup(root, path[:len(path)-1]), path[len(path)-1]
}

// insert puts a value at a path. In a list it is put before the element there, or replaces it.
func insert(root *value, path []string, v *value, instead bool) {
	holder, token := parent(root, path)
	if holder == nil {
		return
	}
	switch n := len(holder.items); {
	case holder.kind == yaml.MappingNode:
		holder.set(token, v)
	case instead:
		if k := nth(token, n); k >= 0 && k < n {
			v.replaces(holder.items[k])
			holder.items[k] = v
		}
	case token == "-":
		holder.items = append(holder.items, v)
	default:
		if k := nth(token, n+1); k >= 0 && k <= n {
			holder.items = slices.Insert(holder.items, k, v)
		}
	}
}

func remove(root *value, path []string, by mark) *value {
	holder, token := parent(root, path)
	if holder == nil {
		return nil
	}
	v := lookup(holder, path[len(path)-1:])
	if holder.kind == yaml.MappingNode {
		holder.take(token, by)
	} else if k := nth(token, len(holder.items)); v != nil {
		holder.items = slices.Delete(holder.items, k, k+1)
	}
	return v
}

// nth parses an index into a list of n elements. A negative one counts from the end, as kustomize's JSON patches have it.
func nth(token string, n int) int {
	k, err := strconv.Atoi(token)
	switch {
	case err != nil:
		return -1
	case k < 0:
		return k + n
	}
	return k
}
