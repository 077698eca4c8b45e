package origin

import (
	"encoding/base64"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// generators runs configMapGenerator and secretGenerator, then the generator plugins.
func (s *transformation) generators(l *Layer, items []*item) []*item {
	_, options := doc.Field(l.File.Node, "generatorOptions")
	for _, role := range []string{"configMapGenerator", "secretGenerator"} {
		for _, n := range doc.Items(l.File.Node, role) {
			items = s.generate(config{layer: l, path: l.File.Path, node: n, role: role}, options, items)
		}
	}
	for _, d := range s.plugins(l, "generators") {
		c := config{layer: l, path: d.path, node: d.node, role: "generators"}
		switch doc.Text(d.node, "kind") {
		case "ConfigMapGenerator", "SecretGenerator":
			items = s.generate(c, nil, items)
		case "IAMPolicyGenerator":
			items = append(items, c.policy())
		}
	}
	return items
}

// policy makes the ServiceAccount of an IAMPolicyGenerator
// (https://github.com/kubernetes-sigs/kustomize/tree/master/plugin/builtin).
func (c config) policy() *item {
	_, account := doc.Field(c.node, "kubernetesService")
	_, cloud := doc.Field(c.node, "serviceAccount")
	whole := c.whole()
	root := mapValue(whole)
	root.put("apiVersion", scalarValue("v1", whole))
	root.put("kind", scalarValue("ServiceAccount", whole))
	for _, name := range []string{"name", "namespace"} {
		if _, n := doc.Field(account, name); n != nil {
			root.ensure(whole, "metadata").put(name, scalarValue(n.Value, c.mark(n)))
		}
	}
	if _, n := doc.Field(cloud, "name"); n != nil {
		v := scalarValue("", c.mark(n))
		v.approximate = true
		root.ensure(whole, "metadata", "annotations").put("iam.gke.io/gcp-service-account", v)
	}
	return newItem(root, nil)
}

// generate makes the ConfigMap or Secret of one entry, or merges it into the one it names
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configmapgenerator/).
func (s *transformation) generate(c config, global *yaml.Node, items []*item) []*item {
	kind := "ConfigMap"
	if c.role == "secretGenerator" || doc.Text(c.node, "kind") == "SecretGenerator" {
		kind = "Secret"
	}
	whole := c.whole()
	root := mapValue(whole)
	root.put("apiVersion", scalarValue("v1", whole))
	root.put("kind", scalarValue(kind, whole))
	names := c.node
	if _, meta := doc.Field(c.node, "metadata"); meta != nil {
		names = meta
	}
	meta := root.ensure(whole, "metadata")
	for _, name := range []string{"name", "namespace"} {
		if _, n := doc.Field(names, name); n != nil && n.Value != "" {
			meta.put(name, scalarValue(n.Value, c.mark(n)))
		}
	}
	if kind == "Secret" {
		root.put("type", scalarValue("Opaque", whole))
		if _, n := doc.Field(c.node, "type"); n != nil && n.Value != "" {
			root.put("type", scalarValue(n.Value, c.mark(n)))
		}
	}
	_, own := doc.Field(c.node, "options")
	generatorOptions(global, "generatorOptions", c.layer.File.Path, root)
	generatorOptions(own, "options", c.path, root)
	s.generatorData(c, root, kind)
	made := newItem(root, nil)
	behavior := doc.Text(c.node, "behavior")
	if behavior != "merge" && behavior != "replace" {
		return append(items, made)
	}
	for k, old := range items {
		if !old.was(made.ids[0]) {
			continue
		}
		for _, holder := range []string{"labels", "annotations"} {
			if have := old.root.at("metadata", holder); have != nil {
				for _, f := range have.fields {
					if root.at("metadata", holder, f.key) == nil {
						root.ensure(have.by, "metadata", holder).put(f.key, f.value)
					}
				}
			}
		}
		for _, name := range []string{"name", "namespace"} {
			if v := old.root.at("metadata", name); v != nil {
				meta.put(name, v)
			} else {
				meta.drop(name)
			}
		}
		for _, name := range []string{"apiVersion", "kind"} {
			if v := old.root.get(name); v != nil {
				root.put(name, v)
			}
		}
		if behavior == "merge" {
			mergeData(old.root, root)
		}
		made.ids, made.doc = append(made.ids, old.ids...), old.doc
		items[k] = made
		break
	}
	return items
}

// mergeData keeps the old data that the new data does not set.
func mergeData(old, made *value) {
	for _, holder := range []string{"data", "binaryData", "stringData"} {
		have := old.get(holder)
		if have == nil {
			continue
		}
		to := holder
		if holder == "stringData" {
			to = "data" // the API server does this, too
		}
		if made.get(to) == nil {
			made.put(to, mapValue(have.by))
		}
		into := made.get(to)
		for _, f := range have.fields {
			if holder == "stringData" {
				f.value.approximate = true
			}
			if v := into.get(f.key); v == nil {
				into.put(f.key, f.value)
			} else {
				v.replaces(f.value)
			}
		}
	}
}

func generatorOptions(options *yaml.Node, role, file string, root *value) {
	w := mark{path: file, how: Writer, role: role}
	for _, holder := range []string{"labels", "annotations"} {
		key, pairs := doc.Field(options, holder)
		if pairs == nil || pairs.Kind != yaml.MappingNode {
			continue
		}
		for _, f := range w.value(pairs, key).fields {
			root.ensure(w.on(key), "metadata", holder).set(f.key, f.value)
		}
	}
	if _, n := doc.Field(options, "immutable"); n != nil {
		root.put("immutable", scalarValue(n.Value, w.on(n)))
	}
}

// generatorData fills data with the literals, the lines of env files and the files of an entry.
func (s *transformation) generatorData(c config, root *value, kind string) {
	add := func(holder, key, text string, by mark) {
		v := scalarValue(text, by)
		v.approximate = true
		if kind == "Secret" {
			v.text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		root.ensure(c.whole(), holder).put(key, v)
	}
	envs := doc.Items(c.node, "envs")
	if _, env := doc.Field(c.node, "env"); env != nil && env.Value != "" {
		envs = append(envs, env)
	}
	for _, env := range envs {
		name := c.layer.sibling(env.Value)
		for i, line := range s.b.text(name).lines {
			line = strings.TrimLeft(strings.TrimPrefix(line, "\ufeff"), " \t")
			key, text, _ := strings.Cut(line, "=")
			if line != "" && !strings.HasPrefix(line, "#") {
				add("data", key, text, mark{path: name, line: i + 1, end: i + 1, how: Writer, role: c.role})
			}
		}
	}
	for _, literal := range doc.Items(c.node, "literals") {
		if key, text, ok := strings.Cut(literal.Value, "="); ok {
			add("data", key, strings.Trim(text, `"'`), c.mark(literal))
		}
	}
	for _, f := range doc.Items(c.node, "files") {
		key, name, renamed := strings.Cut(f.Value, "=")
		if !renamed {
			key, name = path.Base(f.Value), f.Value
		}
		name = c.layer.sibling(name)
		lines := s.b.text(name).lines
		by := mark{path: name, line: 1, end: max(1, len(lines)-1), how: Writer, role: c.role}
		holder := "data"
		if kind == "ConfigMap" && s.b.text(name).binary {
			holder = "binaryData"
		}
		add(holder, key, "", by)
	}
}
