package render

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// Checks of the resources that Inactive returns.
const (
	PatchTarget  Check = "patch-target"  // a patch or a replacement of a kustomization matches nothing
	ImageEntry   Check = "image-entry"   // an entry of images in a kustomization matches nothing
	PostRenderer Check = "post-renderer" // an entry of a post renderer of a HelmRelease matches nothing
)

// maxConfirmed is how many entries of one kustomization that seem to match nothing are confirmed by another build. If
// there are more, none of them is reported.
const maxConfirmed = 32

// Inactive lists the kustomizations and the HelmRelease that a root is made of and that have entries with a target.
// Each entry that matches nothing in this rendering is an issue. To find them, kustomize runs with marking entries in
// place of the real ones. A root with missing parts is not looked at. Entries are not reported if they are not written
// in this repository, or if another root may need them.
func (r *Renderer) Inactive(ctx context.Context, out *Rendering) []*Resource {
	if out == nil || out.Partial || out.Root.Kind == roots.Folder {
		return nil
	}
	root, one := out.Root, out.target.By
	switch {
	case root.Object == "" && root.Kind == roots.Chart:
		return nil
	case root.Object == "" || one == nil:
		return r.inactiveEntries(nil, out)
	case one.External != nil || one.Kind == gitops.ArgoDirectory:
		return nil
	case one.Release != nil:
		if len(one.Release.PostRender) == 0 || len(one.Problems) > 0 {
			return nil
		}
		whole, err := out.Whole()
		if err != nil || whole == nil || whole.inactive == nil || ctx.Err() != nil {
			return nil
		}
		return whole.inactive()
	}
	return r.inactiveEntries(one, out)
}

// inactiveEntries is Inactive for the kustomizations of a root.
func (r *Renderer) inactiveEntries(one *Deployment, out *Rendering) (list []*Resource) {
	known := inactiveKnown{r, out}
	b := &r.builder
	if one != nil && one.Virtual != nil {
		b = b.instead(one.Virtual)
	}
	p := b.plan(out.Root.Path)
	if len(p.problems) > 0 || !b.omit(p) || p.openAPI {
		return nil
	}
	t := &rebuilder{builder: b.without(p.texts)}
	if t.awaits(p.root) {
		return nil
	}
	layers := t.layers(p.root)
	virtual := ""
	if one != nil && one.Virtual != nil {
		virtual = one.Virtual.Path
	}
	inactive := t.inactive(layers, known, p.root.File.Path, virtual)
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
			if inactive[c] && own && !isMounted(at.Path) {
				check := PatchTarget
				if c.field == "images" {
					check = ImageEntry
				}
				issues = append(issues, Issue{Check: check, Pointer: pointer, Message: c.words})
			}
		}
		list = append(list, NewResource(object, pointed(places, l.file.Path), issues...))
	}
	return list
}

// onlyHere reports whether every component on the way to a kustomization is included only once. Otherwise an entry that
// matches nothing in this root may match in another one.
func (b *builder) onlyHere(l *layered) bool {
	for _, c := range append(slices.Clone(l.above), l) {
		if c.file.Component && len(b.index.IncludedBy(c.file.Dir)) != 1 {
			return false
		}
	}
	return true
}

// pointed returns a locator of fields whose places are known.
func pointed(places map[string]gitops.Position, file string) Locator {
	return func(pointer string) origin.Place {
		at, ok := places[pointer]
		if !ok {
			return origin.Place{Path: file, StartLine: 1, EndLine: 1, How: origin.Enclosing, Missing: pointer}
		}
		line := max(1, at.Line)
		return origin.Place{Path: at.Path, StartLine: line, EndLine: max(line, at.EndLine), How: origin.Identity}
	}
}

// inactivePostRenderers returns the HelmRelease of a release, with an issue for each entry of its post renderers that
// matches nothing in any run.
func (s *release) inactivePostRenderers(runs []postRun) []*Resource {
	inactive := map[gitops.Position]int{}
	for _, run := range runs {
		for _, step := range run {
			for _, at := range step.inactive(&s.renderer.builder) {
				inactive[at]++
			}
		}
	}
	one := s.target.By
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
				if inactive[e.Where] == len(runs) && e.Where.Path == one.Where.Path {
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
	return []*Resource{NewResource(object, pointed(places, cmp.Or(one.Where.Path, s.target.Path)), issues...)}
}

// choice is an entry of a kustomization that selects what it applies to.
type choice struct {
	layer  *layered
	field  string
	index  int            // index in the field's list
	entry  map[string]any // the entry there, as kustomize sees it; nil: it is no map
	path   string         // of the file that contains at; empty: the kustomization's
	doc    map[string]any // of transformers: the configuration
	target int            // of replacements: the index of the target in the entry
	at     *yaml.Node
	sign   string // the text that marks what the choice matches
	words  string
}

// layered is a kustomization of a root.
type layered struct {
	file    *kustomization.File
	fields  map[string]any // fields as kustomize sees them
	above   []*layered     // the kustomizations that include this one, starting with the one to build; empty: this one
	choices []*choice
}

// steps are the fields of a kustomization that change resources, in kustomize's order.
var steps = []string{"patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels",
	"commonAnnotations", "patchesJson6902", "replicas", "images", "imageTags", "replacements", "transformers", "validators"}

// layers lists the kustomizations of this repository that a root is made of, each once, with their choices.
func (t *rebuilder) layers(root *origin.Layer) (list []*layered) {
	seen := map[string]bool{}
	var walk func(l *origin.Layer, above []*layered)
	walk = func(l *origin.Layer, above []*layered) {
		if seen[l.File.Path] {
			return
		}
		seen[l.File.Path] = true
		one := &layered{file: l.File, above: above}
		data, _, err := t.read(l.File.Path)
		if err != nil || isMounted(l.File.Path) || sigsyaml.Unmarshal(data, &one.fields) != nil {
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

// topLevelKey matches a line that makes a document of a file: parsing the file would find that, too, and take longer.
var topLevelKey = regexp.MustCompile(`(?m)^[A-Za-z]+:(?:[ \t\r]|$)`)

// awaits reports whether a file of resources is empty, so that something is expected to generate its content.
func (t *rebuilder) awaits(l *origin.Layer) bool {
	for _, part := range l.Resources {
		if part.Layer != nil {
			if t.awaits(part.Layer) {
				return true
			}
			continue
		}
		data, err := t.Read(part.Path)
		if topLevelKey.Match(data) {
			continue
		}
		if documents, failure := doc.Parse(part.Path, data, t.limits.Source); err == nil && failure == nil &&
			len(documents) == 0 {
			return true
		}
	}
	return slices.ContainsFunc(l.Components, t.awaits)
}

// add adds a choice that kustomize sees.
func (l *layered) add(c choice) {
	entries, _ := l.fields[c.field].([]any)
	if c.index >= len(entries) {
		return
	}
	c.layer = l
	c.entry, _ = entries[c.index].(map[string]any)
	if targets, _ := c.entry["targets"].([]any); c.field == "replacements" && c.target >= len(targets) {
		return
	}
	c.sign = fmt.Sprintf("lintel-mark-%s-%d-%d-", c.field, c.index, c.target)
	l.choices = append(l.choices, &c)
}

// chooseTransformers adds the PatchTransformers with a target that a kustomization configures. Only those that are
// alone in an entry or a file are added.
func (t *rebuilder) chooseTransformers(l *layered, of *origin.Layer) {
	for i, entry := range doc.Items(l.file.Node, "transformers") {
		data, file, line := []byte(entry.Value), "", entry
		k := slices.IndexFunc(of.Plugins, func(p origin.Plugin) bool {
			return p.Field == "transformers" && p.Entry == entry.Value && p.Layer == nil
		})
		if k >= 0 {
			file, line = of.Plugins[k].Path, nil
			var err error
			if data, err = t.Read(file); err != nil || isMounted(file) {
				continue
			}
		}
		documents, err := doc.Parse(l.file.Path, data, t.limits.Source)
		if err != nil || len(documents) != 1 || doc.Text(documents[0], "kind") != "PatchTransformer" {
			continue
		}
		_, target := doc.Field(documents[0], "target")
		var doc map[string]any
		if target == nil || target.Kind != yaml.MappingNode || sigsyaml.Unmarshal(data, &doc) != nil {
			continue
		}
		l.add(choice{field: "transformers", index: i, at: cmp.Or(line, target), path: file, doc: doc,
			words: "the target of this transformer matches nothing that the kustomization has: " + selectorWords(target)})
	}
}

// choose adds the choices in the fields of a kustomization.
func (l *layered) choose() {
	add := l.add
	for _, field := range []string{"patches", "patchesJson6902"} {
		for i, entry := range doc.Items(l.file.Node, field) {
			if _, target := doc.Field(entry, "target"); target != nil && target.Kind == yaml.MappingNode {
				add(choice{field: field, index: i, at: target, words: "the target of this patch matches nothing that " +
					"the kustomization has: " + selectorWords(target)})
			}
		}
	}
	for i, entry := range doc.Items(l.file.Node, "replacements") {
		for j, target := range doc.Items(entry, "targets") {
			if _, chosen := doc.Field(target, "select"); chosen != nil && chosen.Kind == yaml.MappingNode {
				add(choice{field: "replacements", index: i, target: j, at: chosen, words: "this target of the replacement " +
					"matches nothing that the kustomization has: " + selectorWords(chosen)})
			}
		}
	}
	for i, entry := range doc.Items(l.file.Node, "images") {
		if _, name := doc.Field(entry, "name"); name != nil && name.Value != "" {
			add(choice{field: "images", index: i, at: name, words: fmt.Sprintf("nothing that the kustomization has uses the "+
				"image %.200q", name.Value)})
		}
	}
}

// selectorWords returns a selector on one line.
func selectorWords(n *yaml.Node) string {
	var words []string
	for key, value := range doc.Fields(n) {
		words = append(words, doc.Key(key)+": "+doc.Key(doc.Deref(value)))
	}
	return fmt.Sprintf("%.200s", strings.Join(words, ", "))
}

// pointer returns the JSON Pointer of the choice in the object that layered.object returns.
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

// object returns a kustomization with nothing but its choices, without what they add, which may be secret.
func (l *layered) object() map[string]any {
	out := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"metadata": map[string]any{"name": l.file.Dir}}
	for field, keys := range map[string][]string{"patches": {"target"}, "patchesJson6902": {"target"}, "images": {"name"},
		"replacements": {"targets", "select"}} {
		if list, _ := l.fields[field].([]any); len(list) > 0 {
			out[field] = only(list, keys)
		}
	}
	if entries, _ := l.fields["transformers"].([]any); len(entries) > 0 {
		list := make([]any, len(entries))
		for i := range list {
			list[i] = map[string]any{}
		}
		for _, c := range l.choices {
			if c.field == "transformers" {
				list[c.index] = map[string]any{"target": c.doc["target"]}
			}
		}
		out["transformers"] = list
	}
	return out
}

// only returns a value with nothing but the field at a path of keys, in each element of a list.
func only(v any, keys []string) any {
	if list, ok := v.([]any); ok {
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = only(item, keys)
		}
		return out
	}
	if len(keys) == 0 {
		return v
	}
	m, _ := v.(map[string]any)
	return map[string]any{keys[0]: only(m[keys[0]], keys[1:])}
}

// marking returns an entry that adds the mark of a choice to what it matches.
func (c *choice) marking() any {
	patch := fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": ""}]`, c.sign)
	switch c.field {
	case "transformers":
		data, err := json.Marshal(map[string]any{"apiVersion": "builtin", "kind": "PatchTransformer",
			"metadata": map[string]any{"name": c.sign + "x"}, "target": c.doc["target"], "patch": patch})
		if err != nil {
			return nil
		}
		return string(data)
	case "images":
		return map[string]any{"name": c.entry["name"], "newName": "lintel.invalid/" + c.sign, "newTag": "x"}
	case "replacements":
		targets, _ := c.entry["targets"].([]any)
		target, _ := targets[c.target].(map[string]any)
		marked := map[string]any{"select": target["select"], "fieldPaths": []any{c.sign},
			"options": map[string]any{"create": true}}
		if reject := target["reject"]; reject != nil {
			marked["reject"] = reject
		}
		return map[string]any{"sourceValue": "x", "targets": []any{marked}}
	}
	return map[string]any{"target": c.entry["target"], "patch": patch}
}
