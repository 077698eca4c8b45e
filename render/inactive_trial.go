package render

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
)

// inactiveLayers caches the choices of kustomizations that match nothing. The result for a kustomization does not
// depend on the root, only on the kustomizations that include it.
type inactiveLayers struct{ byFile sync.Map } // func() map[string]bool: the signs of the choices that match nothing

// inactiveKnown caches the result for the kustomizations of a root. The result is valid as long as the rendering is,
// since every kustomization is part of what the rendering depends on.
type inactiveKnown struct {
	renderer *Renderer // the renderer of the check; that of a trial has an overlay
	out      *Rendering
}

// signs returns the signs of a kustomization's choices that match nothing. own means that the result is only valid for
// this root.
func (k inactiveKnown) signs(layer string, own bool, find func() map[string]bool) map[string]bool {
	r, key := k.renderer, layer
	if own {
		key += " " + r.ownKey(k.out.target)
	}
	now := asker{r, k.out.target}
	if signs, ok := env.Get[map[string]bool](r.kept(), inactiveTable, key, now); ok {
		return signs
	}
	signs := find()
	if asked := maps.Clone(k.out.asked); asked != nil {
		if !own { // it is the same for all objects that deploy the root
			delete(asked, env.Question{Kind: env.Deployed})
		}
		env.Put(r.kept(), inactiveTable, key, asked, signs)
	}
	return signs
}

// inactive finds the choices that match nothing, except in components that are included more than once. kept has the
// rendering of the root and top the path of its own kustomization. virtual is the file that Lintel makes up for one
// deployment.
func (t *rebuilder) inactive(layers []*layered, kept inactiveKnown, top, virtual string) map[*choice]bool {
	out := map[*choice]bool{}
	for _, l := range layers {
		if len(l.choices) == 0 || !t.onlyHere(l) {
			continue
		}
		key, own := "", false
		for _, one := range append(slices.Clone(l.above), l) {
			key += one.file.Path + " "
			own = own || one.file.Path == virtual
		}
		find := sync.OnceValue(func() map[string]bool {
			return kept.signs(key, own, func() map[string]bool { return t.matchless(l, kept.out.Resources, l.file.Path == top) })
		})
		if !own {
			stored, _ := kept.renderer.inactives.byFile.LoadOrStore(key, find)
			find = stored.(func() map[string]bool)
		}
		signs := find()
		for _, c := range l.choices {
			out[c] = signs[c.sign]
		}
	}
	return out
}

// matchless returns the signs of a kustomization's choices that match nothing. rendered are the resources of the root,
// and top says that it is the root's own kustomization.
func (t *rebuilder) matchless(l *layered, rendered []*Resource, top bool) map[string]bool {
	unsure, signs := t.unmarked(l, rendered, top)
	if len(unsure) > maxConfirmed {
		return signs
	}
	for _, one := range unsure {
		if text, ok := t.built(l, one.field, one.before()); ok && !strings.Contains(text, one.sign) {
			signs[one.sign] = true
		}
	}
	return signs
}

// shown reports whether a rendered resource proves that a choice matches: it has the image that the entry sets, or the
// patch of the root's own kustomization selects it.
func (c *choice) shown(rendered []*Resource, top bool) bool {
	text := func(m map[string]any, key string) string { t, _ := m[key].(string); return t }
	if c.field == "images" {
		image := cmp.Or(text(c.entry, "newName"), text(c.entry, "name"))
		if tag := text(c.entry, "newTag"); tag != "" {
			image += ":" + tag
		}
		if digest := text(c.entry, "digest"); digest != "" {
			image += "@" + digest
		}
		return image != text(c.entry, "name") && slices.ContainsFunc(rendered, func(r *Resource) bool {
			return doc.HasLeaf(r.Object, func(v any) bool { return v == image })
		})
	}
	target, _ := c.entry["target"].(map[string]any)
	for _, field := range []string{"labelSelector", "annotationSelector", "namespace"} {
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
		group, version, ok := strings.Cut(text(r.Object, "apiVersion"), "/")
		if !ok {
			group, version = "", group
		}
		is := func(field, value string) bool { return text(target, field) == "" || text(target, field) == value }
		return is("kind", text(r.Object, "kind")) && is("name", text(meta, "name")) && is("group", group) && is("version", version)
	})
}

// unmarked builds the kustomization once per field with the marks of all choices. It returns the signs of those that
// certainly match nothing, and as unsure those whose mark is missing for another possible reason. Choices that shown
// proves are skipped.
func (t *rebuilder) unmarked(l *layered, rendered []*Resource, top bool) (unsure []*choice, inactive map[string]bool) {
	inactive = map[string]bool{}
	for _, field := range []string{"patches", "patchesJson6902", "images", "replacements", "transformers"} {
		var of []*choice
		var marks []any
		entries, _ := l.fields[field].([]any)
		at := 0 // the index of the next real entry to keep; real entries of images would rename what the marks match
		for _, c := range l.choices {
			if c.field != field || c.shown(rendered, top) {
				continue
			}
			if field != "images" {
				marks, at = append(marks, entries[at:c.index]...), c.index
			}
			of, marks = append(of, c), append(marks, c.marking())
		}
		if len(of) == 0 {
			continue
		}
		if len(of) == 1 && field == "images" {
			unsure = append(unsure, of...) // confirming it costs no more than this build
			continue
		}
		text, ok := t.built(l, field, marks)
		for _, c := range of {
			switch {
			case ok && strings.Contains(text, c.sign):
			case ok && c.target == 0 && t.leavesMarks(l, field, c.index, at):
				inactive[c.sign] = true
			default:
				unsure = append(unsure, c)
			}
		}
	}
	return unsure, inactive
}

// leavesMarks reports whether some entries of a field can neither remove a mark nor an object with one. They must not
// delete anything, nor replace anything as a whole.
func (t *rebuilder) leavesMarks(l *layered, field string, from, to int) bool {
	if field == "replacements" {
		return true
	}
	entries, _ := l.fields[field].([]any)
	return strings.HasPrefix(field, "patches") && !slices.ContainsFunc(entries[from:to], func(e any) bool {
		entry, _ := e.(map[string]any)
		text, _ := entry["patch"].(string)
		if name, ok := entry["path"].(string); ok {
			data, err := t.Read(path.Join(l.file.Dir, name))
			if err != nil {
				return true
			}
			text += string(data)
		}
		documents, err := doc.Parse(l.file.Path, []byte(text), t.limits.Source)
		return err != nil || strings.Contains(text, "$patch") || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
			return slices.ContainsFunc(d.Content, func(step *yaml.Node) bool {
				return d.Kind == yaml.SequenceNode && doc.Text(step, "path") == ""
			})
		})
	})
}

// before returns the entries of the choice's field up to the choice, which is replaced by its mark.
func (c *choice) before() []any {
	entries, _ := c.layer.fields[c.field].([]any)
	list := slices.Clone(entries[:c.index])
	if targets, _ := c.entry["targets"].([]any); c.field == "replacements" && c.target > 0 {
		part := maps.Clone(c.entry)
		part["targets"] = targets[:c.target]
		list = append(list, part)
	}
	return append(list, c.marking())
}

// built builds a kustomization with only the fields up to one, and with other entries in that field. ok is false where
// the build fails.
func (t *rebuilder) built(l *layered, field string, entries []any) (text string, ok bool) {
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

// until returns the fields of a kustomization as they are when one of its components runs.
func (l *layered) until(t *rebuilder, component *layered) map[string]any {
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
