package gitops

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Overrides are the changes that an object makes to the kustomization of its folder. Both controllers edit the file
// instead of adding a kustomization on top. So a name prefix replaces that of the file, and patches see names without
// the prefix.
type Overrides struct{ Edits []edit }

func (o *Overrides) add(e edit) { o.Edits = append(o.Edits, e) }

// take adds an edit with the value of a field, if it has one: a text or a list.
func (o *Overrides) take(op operation, key string, value *field, options flags) {
	if op == setField && value.text() != "" || op != setField && len(value.elements()) > 0 {
		o.add(edit{op, key, value, options})
	}
}

// operation is how an edit changes a field of a kustomization.
type operation int

const (
	setField      operation = iota // the field becomes the value
	replaceByName                  // entries replace those with the same name ("kustomize edit set image")
	mergeByName                    // entries are merged into those with the same name
	addPairs                       // pairs are added to a map
	addLabels                      // an entry is added to labels, which does not change selectors
	appendItems                    // items are added to a list
)

// flags are options of an edit.
type flags struct {
	Force     bool // existing pairs may be changed
	Templates bool // labels are added to pod templates
	Optional  bool // folders that do not exist are skipped
}

type edit struct {
	Op    operation
	Key   string
	Value *field
	Flags flags
}

// apply makes the edits. It returns the changed kustomization and the names of its changed fields. missing reports
// whether a folder does not exist.
func (o Overrides) apply(f *field, missing func(dir string) bool) (_ *field, changed []string, problems []Problem) {
	for _, e := range o.Edits {
		value, problem := e.apply(f.get(e.Key), missing)
		switch {
		case problem != nil:
			problems = append(problems, *problem)
		case value.List && len(value.Items) == 0:
		default:
			f = f.with(value, e.Key)
			if !slices.Contains(changed, e.Key) {
				changed = append(changed, e.Key)
			}
		}
	}
	return f, changed, problems
}

// imageArgument parses an image override like "kustomize edit set image": name=newname:tag@digest. Some parts may be
// missing.
func imageArgument(text string, where Position) *field {
	name, image, renamed := strings.Cut(text, "=")
	if !renamed {
		image = text
	}
	image, digest, _ := strings.Cut(image, "@")
	tag := ""
	if i := strings.LastIndexByte(image, ':'); i >= 0 && !strings.Contains(image[i:], "/") {
		image, tag = image[:i], image[i+1:]
	}
	if !renamed {
		name, image = image, ""
	}
	out := &field{Fields: map[string]*field{}, Where: where}
	for _, part := range [][2]string{{"name", name}, {"newTag", tag}, {"digest", digest}, {"newName", image}} {
		if part[1] != "" {
			out.put(part[0], made(part[1], where))
		}
	}
	return out
}

// preserved means that a part of an image keeps the value in the kustomization.
const preserved = "*"

// apply returns the field of a kustomization after an edit.
func (e edit) apply(old *field, missing func(dir string) bool) (*field, *Problem) {
	switch e.Op {
	case replaceByName, mergeByName:
		return e.byName(old), nil
	case addPairs:
		out := &field{Fields: map[string]*field{}}
		if old != nil {
			out = old.clone()
		}
		out.Where = e.Value.Where
		for _, k := range e.Value.Keys {
			if out.Fields[k] != nil && !e.Flags.Force {
				return nil, problemAt(e.Value.Fields[k].position(), Broken,
					"%s has %.80q already: Argo CD refuses to change it without force", e.Key, k)
			}
			out.put(k, e.Value.Fields[k])
		}
		return out, nil
	case addLabels:
		entry := (&field{Fields: map[string]*field{}, Where: e.Value.Where}).with(e.Value,
			"pairs").with(made(false, e.Value.Where), "includeSelectors")
		if e.Flags.Templates {
			entry = entry.with(made(true, e.Value.Where), "includeTemplates")
		}
		return joined(old, e.Value, entry), nil
	case appendItems:
		items := e.Value.Items
		if e.Flags.Optional {
			items = slices.DeleteFunc(slices.Clone(items), func(f *field) bool { return missing(f.text()) })
		}
		return joined(old, e.Value, items...), nil
	}
	return e.Value, nil
}

// joined returns a list with items added. If there was no list, its place is that of the edit.
func joined(old, edit *field, items ...*field) *field {
	out := &field{List: true, Where: edit.Where}
	if old != nil {
		out.Items, out.Where = slices.Clone(old.Items), old.Where
	}
	out.Items = append(out.Items, items...)
	return out
}

func (e edit) byName(old *field) *field {
	out := joined(old, e.Value)
	for _, item := range e.Value.Items {
		i := slices.IndexFunc(out.Items, func(f *field) bool { return f.text("name") == item.text("name") })
		if i < 0 {
			out.Items = append(out.Items, item)
			continue
		}
		before := out.Items[i]
		if e.Op == mergeByName {
			out.Items[i] = mergeImage(before, item)
			continue
		}
		for _, k := range item.Keys {
			if item.text(k) == preserved && before.get(k) != nil {
				item = item.with(before.get(k), k)
			}
		}
		out.Items[i] = item
	}
	return out
}

// mergeImage changes an image entry like Flux. A tag and a digest both choose the version, so setting one removes the
// other.
func mergeImage(before, over *field) *field {
	out := &field{Fields: map[string]*field{}, Where: over.Where}
	version := over.text("newTag") != "" || over.text("digest") != ""
	for _, k := range before.Keys {
		if !version || k != "newTag" && k != "digest" && k != "tagSuffix" {
			out.put(k, before.Fields[k])
		}
	}
	for _, k := range over.Keys {
		if over.text(k) != "" {
			out.put(k, over.Fields[k])
		}
	}
	return out
}

func (o Overrides) shape() []any {
	edits := make([]any, len(o.Edits))
	for i, e := range o.Edits {
		edits[i] = []any{e.Op, e.Key, e.Flags, e.Value.plain()}
	}
	return edits
}

// Kustomization returns a new kustomization that applies o to resources, with the places of its lines.
func (o Overrides) Kustomization(file string, resources ...string) (*Virtual, error) {
	f, _, _ := o.apply(kustomizationOf(cmp.Or(o.Where(), Position{Path: file}), resources...), func(string) bool { return false })
	v := &Virtual{Path: file, Generated: true}
	return v, v.append(f, f.Keys)
}

// Components lists the folders of the repository that an object adds to the components of its folder's kustomization.
func (d *Deployment) Components() (list []string) {
	for _, e := range d.Overrides.Entries("components") {
		entry, _ := e.Value.(string)
		if dir, ok := tree.Clean(path.Join(d.Path, entry)); ok && entry != "" && !kustomization.Remote(entry) && d.External == nil {
			list = append(list, dir)
		}
	}
	return list
}

// Entry is one entry that Overrides add to a list of the kustomization.
type Entry struct {
	Value any // as JSON
	Where Position
}

// Entries lists what Overrides add to a list of the kustomization: "patches", "images" or
// "components".
func (o Overrides) Entries(key string) (list []Entry) {
	for _, e := range o.Edits {
		for _, item := range e.Value.elements() {
			if e.Key == key {
				list = append(list, Entry{item.plain(), item.position()})
			}
		}
	}
	return list
}

// HasVariables reports whether a text of the object may have variables that Flux substitutes.
func (o Object) HasVariables() bool {
	data, err := json.Marshal(o.root())
	return err != nil || bytes.Contains(data, []byte("${"))
}

// Edits reports whether the object of a deployment may change other objects of a kind, besides their labels and annotations. in
// is their namespace.
func (d *Deployment) Edits(kind, in string) bool {
	return slices.ContainsFunc(d.Overrides.Edits, func(e edit) bool {
		switch e.Key {
		case "namespace":
			return e.Value.text() != in
		case "images", "replicas", "labels", "commonLabels", "commonAnnotations":
			return false
		case "patches", "patchesJson6902", "patchesStrategicMerge":
			return slices.ContainsFunc(e.Value.Items, func(item *field) bool { return patchesKind(item, kind) })
		}
		return true
	})
}

// patchesKind reports whether an entry of patches may be for a kind, which its target names with a regular expression.
func patchesKind(item *field, kind string) bool {
	if of := item.text("target", "kind"); of != "" {
		if regexp.QuoteMeta(of) == of {
			return of == kind
		}
		re, err := regexp.Compile("^(?:" + of + ")$")
		return err != nil || re.MatchString(kind)
	}
	text := item.text() + item.text("patch")
	return item.present("target") || text == "" || strings.Contains(text, kind)
}

// Where returns the place of the first edit.
func (o Overrides) Where() Position {
	if len(o.Edits) == 0 {
		return Position{}
	}
	return o.Edits[0].Value.position()
}
