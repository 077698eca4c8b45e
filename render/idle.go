package render

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
)

// Checks of the resources that Idle returns.
const (
	PatchTarget  Check = "patch-target"  // a patch or a replacement of a kustomization matches nothing
	ImageEntry   Check = "image-entry"   // an entry of images does
	PostRenderer Check = "post-renderer" // an entry of a post renderer of a HelmRelease does
)

// maxConfirmed is how many entries of one kustomization that seem to match nothing are built once more to be sure: of more,
// nothing is said.
const maxConfirmed = 32

// Idle lists the kustomizations and the HelmRelease that a root is made by, as far as they have entries that choose
// what they are for, with an issue for each that matches nothing in this rendering of the root. Kustomize itself is
// asked: entries in their place leave marks. Nothing is said of a root of which something is missing, of what is not
// written in this repository, and of what other roots may have the use of.
func (r *Renderer) Idle(ctx context.Context, root roots.Root, out *Rendering) []*Resource {
	if out == nil || out.Partial || root.Kind == roots.Folder {
		return nil
	}
	one := r.set.Deployment(root)
	switch {
	case root.Object == "" && root.Kind == roots.Chart:
		return nil
	case root.Object == "" || one == nil:
		return r.idleEntries(root, nil, out)
	case one.Elsewhere != nil || one.Kind == gitops.ArgoDirectory:
		return nil
	case one.Release != nil:
		if len(one.Release.PostRender) == 0 || len(one.Problems) > 0 {
			return nil
		}
		whole, err := out.Whole()
		if err != nil || whole == nil || whole.idle == nil || ctx.Err() != nil {
			return nil
		}
		return whole.idle()
	}
	return r.idleEntries(root, one, out)
}

// choice is an entry of a kustomization that chooses what it is for.
type choice struct {
	layer  *layered
	field  string
	index  int            // in the field
	path   string         // of the file that at is in; empty: the kustomization's
	doc    map[string]any // of transformers: the configuration
	target int            // of replacements, in the entry; else 0
	at     *yaml.Node
	sign   string // of the mark
	words  string
}

// layered is a kustomization of a root.
type layered struct {
	file    *kustomization.File
	fields  map[string]any // as kustomize sees them
	above   []*layered     // from the folder that is built to find out, if it is not this one
	choices []*choice
}

// steps are the fields of a kustomization that change resources, in kustomize's order.
var steps = []string{"patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels",
	"commonAnnotations", "patchesJson6902", "replicas", "images", "imageTags", "replacements", "transformers", "validators"}

// idleEntries are those of the kustomizations of a root.
func (r *Renderer) idleEntries(root roots.Root, one *roots.Deployment, out *Rendering) (list []*Resource) {
	if one != nil && one.Virtual != nil {
		r = r.With(map[string][]byte{one.Virtual.Path: one.Virtual.Data})
	}
	p := r.plan(root.Path)
	if len(p.problems) > 0 || !r.leave(p) || p.openAPI {
		return nil
	}
	t := &trial{Renderer: r.without(p.texts)}
	if t.awaits(p.root) {
		return nil
	}
	layers := t.layers(p.root)
	virtual := ""
	if one != nil && one.Virtual != nil {
		virtual = one.Virtual.Path
	}
	idle := t.idle(layers, out.Resources, p.root.File.Path, virtual)
	for _, l := range layers {
		if len(l.choices) == 0 {
			continue
		}
		places := map[string]gitops.Position{}
		place := func(n *yaml.Node) (at gitops.Position, own bool) {
			if one == nil || one.Virtual == nil || l.file.Path != one.Virtual.Path {
				return gitops.Position{Path: l.file.Path, Line: n.Line, Column: n.Column}, true
			}
			at = one.Virtual.Place(n.Line, n.Column)
			own = !one.Virtual.Generated && at.Path == l.file.Path ||
				at.Path == one.Where.Path && one.Object.Kind != "ApplicationSet"
			return at, own
		}
		object := l.object()
		var issues []Issue
		for _, c := range l.choices {
			pointer := c.pointer()
			at, own := place(c.at)
			if c.path != "" {
				at, own = gitops.Position{Path: c.path, Line: c.at.Line, Column: c.at.Column}, true
			}
			places[pointer] = at
			if idle[c] && own && !isOutside(at.Path) && r.onlyHere(l) {
				check := PatchTarget
				if c.field == "images" {
					check = ImageEntry
				}
				issues = append(issues, Issue{Check: check, Pointer: pointer, Message: c.words})
			}
		}
		list = append(list, NewResource(object, pointed{places, l.file.Path}, issues...))
	}
	return list
}

// onlyHere reports whether nobody else includes a kustomization that is a component: what one root has nothing for, another may have.
func (r *Renderer) onlyHere(l *layered) bool {
	for _, c := range append(slices.Clone(l.above), l) {
		if c.file.Component && len(r.set.Taking(c.file.Dir)) != 1 {
			return false
		}
	}
	return true
}

// pointed are the places of fields that were found before.
type pointed struct {
	places map[string]gitops.Position
	file   string
}

// Locate implements Locator.
func (p pointed) Locate(pointer string) origin.Place {
	at, ok := p.places[pointer]
	if !ok {
		return origin.Place{Path: p.file, StartLine: 1, EndLine: 1, How: origin.Enclosing, Missing: pointer}
	}
	line := max(1, at.Line)
	return origin.Place{Path: at.Path, StartLine: line, EndLine: max(line, at.EndLine), How: origin.Identity}
}

// layers lists the kustomizations of this repository that a root is made of, each once, with their choices.
func (t *trial) layers(root *origin.Layer) (list []*layered) {
	seen := map[string]bool{}
	var walk func(l *origin.Layer, above []*layered)
	walk = func(l *origin.Layer, above []*layered) {
		if seen[l.File.Path] {
			return
		}
		seen[l.File.Path] = true
		one := &layered{file: l.File, above: above}
		data, _, err := t.read(l.File.Path)
		if err != nil || isOutside(l.File.Path) || sigsyaml.Unmarshal(data, &one.fields) != nil {
			return
		}
		one.choose()
		t.chooseTransformers(one, l)
		list = append(list, one)
		for _, part := range l.Resources {
			if part.Layer != nil {
				walk(part.Layer, nil)
			}
		}
		for _, c := range l.Components {
			walk(c, append(slices.Clone(above), one))
		}
	}
	walk(root, nil)
	return list
}

// awaits reports whether a file of resources has none: something is to put them there.
func (t *trial) awaits(l *origin.Layer) bool {
	for _, part := range l.Resources {
		if part.Layer != nil {
			if t.awaits(part.Layer) {
				return true
			}
			continue
		}
		data, err := t.Read(part.Path)
		if documents, failure := source.Parse(part.Path, data, t.limits.Source); err == nil && failure == nil &&
			len(documents) == 0 {
			return true
		}
	}
	return slices.ContainsFunc(l.Components, t.awaits)
}

func (l *layered) add(c choice) {
	c.layer = l
	c.sign = fmt.Sprintf("lintel-mark-%s-%d-%d-", c.field, c.index, c.target)
	l.choices = append(l.choices, &c)
}

// chooseTransformers finds the PatchTransformers with a target that a kustomization configures: those that are an entry,
// or a file, for themselves.
func (t *trial) chooseTransformers(l *layered, of *origin.Layer) {
	for i, entry := range source.Items(l.file.Node, "transformers") {
		data, file, line := []byte(entry.Value), "", entry
		k := slices.IndexFunc(of.Plugins, func(p origin.Plugin) bool {
			return p.Field == "transformers" && p.Entry == entry.Value && p.Layer == nil
		})
		if k >= 0 {
			file, line = of.Plugins[k].Path, nil
			var err error
			if data, err = t.Read(file); err != nil || isOutside(file) {
				continue
			}
		}
		documents, err := source.Parse(l.file.Path, data, t.limits.Source)
		if err != nil || len(documents) != 1 || source.Text(documents[0], "kind") != "PatchTransformer" {
			continue
		}
		_, target := source.Field(documents[0], "target")
		var doc map[string]any
		if target == nil || target.Kind != yaml.MappingNode || sigsyaml.Unmarshal(data, &doc) != nil {
			continue
		}
		l.add(choice{field: "transformers", index: i, at: cmp.Or(line, target), path: file, doc: doc,
			words: "the target of this transformer matches nothing that the kustomization has: " + selectorWords(target)})
	}
}

// choose finds the choices of a kustomization.
func (l *layered) choose() {
	add := l.add
	for _, field := range []string{"patches", "patchesJson6902"} {
		for i, entry := range source.Items(l.file.Node, field) {
			if _, target := source.Field(entry, "target"); target != nil && target.Kind == yaml.MappingNode {
				add(choice{field: field, index: i, at: target, words: "the target of this patch matches nothing that " +
					"the kustomization has: " + selectorWords(target)})
			}
		}
	}
	for i, entry := range source.Items(l.file.Node, "replacements") {
		for j, target := range source.Items(entry, "targets") {
			if _, chosen := source.Field(target, "select"); chosen != nil && chosen.Kind == yaml.MappingNode {
				add(choice{field: "replacements", index: i, target: j, at: chosen, words: "this target of the replacement " +
					"matches nothing that the kustomization has: " + selectorWords(chosen)})
			}
		}
	}
	for i, entry := range source.Items(l.file.Node, "images") {
		if _, name := source.Field(entry, "name"); name != nil && name.Value != "" {
			add(choice{field: "images", index: i, at: name, words: fmt.Sprintf("nothing that the kustomization has uses the "+
				"image %.200q", name.Value)})
		}
	}
}

// selectorWords writes a selector on one line.
func selectorWords(n *yaml.Node) string {
	var words []string
	for key, value := range source.Fields(n) {
		words = append(words, source.Key(key)+": "+source.Key(source.Deref(value)))
	}
	return fmt.Sprintf("%.200s", strings.Join(words, ", "))
}

// pointer is where the choice stands in the object of its kustomization.
func (c *choice) pointer() string {
	at := "/" + c.field + "/" + strconv.Itoa(c.index)
	switch c.field {
	case "images":
		return at + "/name"
	case "replacements":
		return at + "/targets/" + strconv.Itoa(c.target) + "/select"
	}
	return at + "/target"
}

// object is a kustomization with its choices alone: what it puts in may be secret.
func (l *layered) object() map[string]any {
	only := func(field string, keep func(entry map[string]any) map[string]any) (list []any) {
		entries, _ := l.fields[field].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			list = append(list, keep(entry))
		}
		return list
	}
	target := func(e map[string]any) map[string]any { return map[string]any{"target": e["target"]} }
	out := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"metadata": map[string]any{"name": l.file.Dir}}
	for field, keep := range map[string]func(map[string]any) map[string]any{
		"patches": target, "patchesJson6902": target,
		"images": func(e map[string]any) map[string]any { return map[string]any{"name": e["name"]} },
		"replacements": func(e map[string]any) map[string]any {
			var list []any
			targets, _ := e["targets"].([]any)
			for _, t := range targets {
				one, _ := t.(map[string]any)
				list = append(list, map[string]any{"select": one["select"]})
			}
			return map[string]any{"targets": list}
		},
	} {
		if list := only(field, keep); len(list) > 0 {
			out[field] = list
		}
	}
	if entries, _ := l.fields["transformers"].([]any); len(entries) > 0 {
		list := make([]any, len(entries))
		for i := range list {
			list[i] = map[string]any{}
		}
		for _, c := range l.choices {
			if c.field == "transformers" && c.index < len(list) {
				list[c.index] = map[string]any{"target": c.doc["target"]}
			}
		}
		out["transformers"] = list
	}
	return out
}

// marking is an entry that leaves the mark of a choice where it matches.
func (c *choice) marking() any {
	entries, _ := c.layer.fields[c.field].([]any)
	if c.index >= len(entries) {
		return nil
	}
	entry, _ := entries[c.index].(map[string]any)
	switch c.field {
	case "transformers":
		data, err := json.Marshal(map[string]any{"apiVersion": "builtin", "kind": "PatchTransformer",
			"metadata": map[string]any{"name": c.sign + "x"}, "target": c.doc["target"],
			"patch": fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": ""}]`, c.sign)})
		if err != nil {
			return nil
		}
		return string(data)
	case "images":
		return map[string]any{"name": entry["name"], "newName": "lintel.invalid/" + c.sign, "newTag": "x"}
	case "replacements":
		targets, _ := entry["targets"].([]any)
		if c.target >= len(targets) {
			return nil
		}
		target, _ := targets[c.target].(map[string]any)
		marked := map[string]any{"select": target["select"], "fieldPaths": []any{c.sign},
			"options": map[string]any{"create": true}}
		if reject := target["reject"]; reject != nil {
			marked["reject"] = reject
		}
		return map[string]any{"sourceValue": "x", "targets": []any{marked}}
	}
	return map[string]any{"target": entry["target"],
		"patch": fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": ""}]`, c.sign)}
}

// idleLayers are the choices of kustomizations that match nothing, as far as they were looked at: what a kustomization
// has does not depend on who includes it.
type idleLayers struct{ byFile sync.Map }

// idleLayer are the signs of those of one.
type idleLayer struct {
	once  sync.Once
	signs map[string]bool
}

// idle finds the choices that match nothing. rendered is what the root comes to, top is its own kustomization;
// virtual is the file of which others may see other contents.
func (t *trial) idle(layers []*layered, rendered []*Resource, top, virtual string) map[*choice]bool {
	out := map[*choice]bool{}
	for _, l := range layers {
		known, key, own := &idleLayer{}, "", false
		for _, one := range append(slices.Clone(l.above), l) {
			key += one.file.Path + " "
			own = own || one.file.Path == virtual
		}
		if !own {
			stored, _ := t.idles.byFile.LoadOrStore(key, known)
			known = stored.(*idleLayer)
		}
		known.once.Do(func() {
			known.signs = map[string]bool{}
			unsure := t.unmarked(l, rendered, l.file.Path == top)
			if len(unsure) > maxConfirmed {
				return
			}
			for _, one := range unsure {
				if text, ok := t.built(l, one.field, one.before()); ok && !strings.Contains(text, one.sign) {
					known.signs[one.sign] = true
				}
			}
		})
		for _, c := range l.choices {
			out[c] = known.signs[c.sign]
		}
	}
	return out
}

// shown reports whether what a root comes to shows that a choice matches: there is the image that an entry writes, or
// what a patch of the root's own kustomization is for.
func (c *choice) shown(rendered []*Resource, top bool) bool {
	entries, _ := c.layer.fields[c.field].([]any)
	if c.index >= len(entries) {
		return false
	}
	entry, _ := entries[c.index].(map[string]any)
	text := func(m map[string]any, key string) string { t, _ := m[key].(string); return t }
	if c.field == "images" {
		image := cmp.Or(text(entry, "newName"), text(entry, "name"))
		if tag := text(entry, "newTag"); tag != "" {
			image += ":" + tag
		}
		if digest := text(entry, "digest"); digest != "" {
			image += "@" + digest
		}
		return image != text(entry, "name") && slices.ContainsFunc(rendered, func(r *Resource) bool { return holdsText(r.Object, image) })
	}
	target, _ := entry["target"].(map[string]any)
	for _, field := range []string{"labelSelector", "annotationSelector", "namespace", "group", "version"} {
		top = top && text(target, field) == ""
	}
	for _, field := range []string{"namePrefix", "nameSuffix"} {
		_, renamed := c.layer.fields[field]
		top = top && !renamed
	}
	if !top || c.field == "replacements" || c.field == "transformers" || text(target, "kind") == "" {
		return false
	}
	return slices.ContainsFunc(rendered, func(r *Resource) bool {
		meta, _ := r.Object["metadata"].(map[string]any)
		name := text(target, "name")
		return text(r.Object, "kind") == text(target, "kind") && (name == "" || name == text(meta, "name"))
	})
}

// holdsText reports whether a text is one of the values below a value.
func holdsText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case map[string]any:
		for _, below := range v {
			if holdsText(below, text) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return holdsText(below, text) })
	}
	return false
}

// unmarked lists the choices of a kustomization that leave no mark where all are asked at once: most leave one, or are
// shown without that.
func (t *trial) unmarked(l *layered, rendered []*Resource, top bool) (list []*choice) {
	for _, field := range []string{"patches", "patchesJson6902", "images", "replacements", "transformers"} {
		var of []*choice
		var marks []any
		at := 0 // entries that are there themselves; those of images would match the marks no more
		for _, c := range l.choices {
			if c.field != field {
				continue
			}
			if entries, _ := l.fields[field].([]any); field != "images" {
				marks = append(marks, entries[at:min(c.index, len(entries))]...)
				at = min(c.index, len(entries))
			}
			of, marks = append(of, c), append(marks, c.marking())
		}
		if !slices.ContainsFunc(of, func(c *choice) bool { return !c.shown(rendered, top) }) {
			continue
		}
		if len(of) == 1 && of[0].index == 0 {
			list = append(list, of...) // to be sure takes no more
			continue
		}
		text, ok := t.built(l, field, marks)
		for _, c := range of {
			if !ok || !strings.Contains(text, c.sign) {
				list = append(list, c)
			}
		}
	}
	return list
}

// before is the field of a choice up to it, with its mark in its place.
func (c *choice) before() []any {
	entries, _ := c.layer.fields[c.field].([]any)
	list := slices.Clone(entries[:min(c.index, len(entries))])
	if c.field == "replacements" && c.target > 0 {
		whole, _ := entries[c.index].(map[string]any)
		part := maps.Clone(whole)
		targets, _ := whole["targets"].([]any)
		part["targets"] = targets[:min(c.target, len(targets))]
		list = append(list, part)
	}
	return append(list, c.marking())
}

// built builds a kustomization up to one of its fields, with other entries in that. ok is false where it does not
// build.
func (t *trial) built(l *layered, field string, entries []any) (text string, ok bool) {
	files := map[string][]byte{}
	write := func(l *layered, fields map[string]any) bool {
		data, err := json.Marshal(fields)
		files[l.file.Path] = data
		return err == nil
	}
	step := slices.Index(steps, field)
	own := maps.Clone(l.fields)
	for _, later := range steps[step:] {
		delete(own, later)
	}
	own[field] = entries
	if !write(l, own) {
		return "", false
	}
	top := l
	for i, above := range slices.Backward(l.above) {
		below := l
		if i+1 < len(l.above) {
			below = l.above[i+1]
		}
		if !write(above, above.until(t, below)) {
			return "", false
		}
		if top = above; !above.file.Component {
			break
		}
	}
	if top.file.Component {
		return "", false
	}
	nodes, err := t.Build(top.file.Dir, files)
	if err != nil {
		return "", false
	}
	out, err := stream(nodes, nodeYAML)
	return string(out), err == nil
}

// until is a kustomization with what it has by the time one of its components runs.
func (l *layered) until(t *trial, component *layered) map[string]any {
	fields := maps.Clone(l.fields)
	for _, step := range steps {
		delete(fields, step)
	}
	list, _ := fields["components"].([]any)
	for i, c := range list {
		name, _ := c.(string)
		if real, _, err := t.find(path.Join(l.file.Dir, name)); err == nil && real == component.file.Dir {
			fields["components"] = list[:i+1]
		}
	}
	return fields
}

// idlePostRenderers is the HelmRelease of a release, with its post renderers that match nothing in any of the runs.
func (s *release) idlePostRenderers(runs []postRun) []*Resource {
	idle := map[gitops.Position]int{}
	for _, run := range runs {
		for _, at := range run.idle(s.renderer) {
			idle[at]++
		}
	}
	one := s.renderer.set.Deployment(s.root)
	if one == nil || len(runs) == 0 || len(s.values.Unknown) > 0 {
		return nil
	}
	places := map[string]gitops.Position{}
	var issues []Issue
	var list []any
	for i, o := range s.spec.PostRender {
		own := map[string]any{}
		for _, key := range []string{"patches", "images"} {
			var entries []any
			for j, e := range o.Entries(key) {
				value, _ := e.Value.(map[string]any)
				pointer := fmt.Sprintf("/spec/postRenderers/%d/kustomize/%s/%d", i, key, j)
				entry, message := map[string]any{"target": value["target"]}, "the target of this patch matches nothing that the "+
					"chart prints"
				if key == "images" {
					entry = map[string]any{"name": value["name"]}
					message = fmt.Sprintf("nothing that the chart prints has the image %.200q", value["name"])
				}
				places[pointer] = e.Where
				entries = append(entries, entry)
				if idle[e.Where] == len(runs) && e.Where.Path == one.Where.Path {
					issues = append(issues, Issue{Check: PostRenderer, Pointer: pointer, Message: message})
				}
			}
			if len(entries) > 0 {
				own[key] = entries
			}
		}
		list = append(list, map[string]any{"kustomize": own})
	}
	object := map[string]any{"apiVersion": one.Object.APIVersion(), "kind": one.Object.Kind,
		"metadata": map[string]any{"name": one.Object.Name, "namespace": one.Object.Namespace},
		"spec":     map[string]any{"postRenderers": list}}
	return []*Resource{NewResource(object, pointed{places, cmp.Or(one.Where.Path, s.root.Path)}, issues...)}
}
