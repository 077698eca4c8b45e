package gitops

import (
	"slices"
	"strings"
)

// Overrides are what an object changes in the kustomization of its folder. Both controllers edit the file rather
// than build on top of it: a name prefix replaces the file's own, and patches see the names as the file's do.
type Overrides struct{ edits []edit }

func (o *Overrides) add(e edit) { o.edits = append(o.edits, e) }

// take adds an edit with the value of a field, if it is there: a text to set, or a list.
func (o *Overrides) take(op operation, key string, value *field, options flags) {
	if op == setField && value.text() != "" || op != setField && len(value.elements()) > 0 {
		o.add(edit{op, key, value, options})
	}
}

// operation is how an edit changes a field of a kustomization.
type operation int

const (
	setField      operation = iota // the field becomes the value
	replaceByName                  // list entries replace those of the same name ("kustomize edit set image")
	mergeByName                    // list entries are merged into those of the same name
	addPairs                       // a map gets more pairs
	addLabels                      // an entry of labels, which does not touch selectors
	appendItems                    // a list gets more entries
)

// flags are what an edit's operation may look at.
type flags struct {
	force     bool // pairs that are there may change
	templates bool // labels go into pod templates
	optional  bool // folders that do not exist are left out
}

type edit struct {
	op    operation
	key   string
	value *field
	flags flags
}

// apply makes the edits. It returns what becomes of a kustomization, and which of its fields have changed. missing reports
// whether a folder is not there.
func (o Overrides) apply(f *field, missing func(dir string) bool) (_ *field, changed []string, problems []Problem) {
	for _, e := range o.edits {
		value, problem := e.apply(f.get(e.key), missing)
		switch {
		case problem != nil:
			problems = append(problems, *problem)
		case value.list && len(value.items) == 0:
		default:
			f = f.with(value, e.key)
			if !slices.Contains(changed, e.key) {
				changed = append(changed, e.key)
			}
		}
	}
	return f, changed, problems
}

// imageArgument reads an image override as "kustomize edit set image" takes it: name=newname:tag@digest, in which
// only some parts need be there.
func imageArgument(text string, where func() Position) *field {
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
	out := &field{fields: map[string]*field{}, where: where}
	for _, part := range [][2]string{{"name", name}, {"newTag", tag}, {"digest", digest}, {"newName", image}} {
		if part[1] != "" {
			out.put(part[0], made(part[1], where))
		}
	}
	return out
}

// preserved is written for a part of an image that stays as the kustomization has it.
const preserved = "*"

// apply returns the field of a kustomization after an edit.
func (e edit) apply(old *field, missing func(dir string) bool) (*field, *Problem) {
	switch e.op {
	case replaceByName, mergeByName:
		return e.byName(old), nil
	case addPairs:
		out := &field{fields: map[string]*field{}}
		if old != nil {
			out = old.clone()
		}
		out.where = e.value.where
		for _, k := range e.value.keys {
			if out.fields[k] != nil && !e.flags.force {
				return nil, problemAt(e.value.fields[k].position(), Broken,
					"%s has %.80q already: Argo CD refuses to change it without force", e.key, k)
			}
			out.put(k, e.value.fields[k])
		}
		return out, nil
	case addLabels:
		entry := (&field{fields: map[string]*field{}, where: e.value.where}).with(e.value,
			"pairs").with(made(false, e.value.where), "includeSelectors")
		if e.flags.templates {
			entry = entry.with(made(true, e.value.where), "includeTemplates")
		}
		return joined(old, e.value, entry), nil
	case appendItems:
		items := e.value.items
		if e.flags.optional {
			items = slices.DeleteFunc(slices.Clone(items), func(f *field) bool { return missing(f.text()) })
		}
		return joined(old, e.value, items...), nil
	}
	return e.value, nil
}

// joined returns a list with more items; where there was none, it stands where the edit does.
func joined(old, edit *field, items ...*field) *field {
	out := &field{list: true, where: edit.where}
	if old != nil {
		out.items, out.where = slices.Clone(old.items), old.where
	}
	out.items = append(out.items, items...)
	return out
}

func (e edit) byName(old *field) *field {
	out := joined(old, e.value)
	for _, item := range e.value.items {
		i := slices.IndexFunc(out.items, func(f *field) bool { return f.text("name") == item.text("name") })
		if i < 0 {
			out.items = append(out.items, item)
			continue
		}
		before := out.items[i]
		if e.op == mergeByName {
			out.items[i] = mergeImage(before, item)
			continue
		}
		for _, k := range item.keys {
			if item.text(k) == preserved && before.get(k) != nil {
				item = item.with(before.get(k), k)
			}
		}
		out.items[i] = item
	}
	return out
}

// mergeImage changes an image entry as Flux does: a tag and a digest choose the version together, so that setting
// one of them clears the other.
func mergeImage(before, over *field) *field {
	out := &field{fields: map[string]*field{}, where: over.where}
	version := over.text("newTag") != "" || over.text("digest") != ""
	for _, k := range before.keys {
		if !version || k != "newTag" && k != "digest" && k != "tagSuffix" {
			out.put(k, before.fields[k])
		}
	}
	for _, k := range over.keys {
		if over.text(k) != "" {
			out.put(k, over.fields[k])
		}
	}
	return out
}

func (o Overrides) shape() []any {
	edits := make([]any, len(o.edits))
	for i, e := range o.edits {
		edits[i] = []any{e.op, e.key, e.flags, e.value.plain()}
	}
	return edits
}

// Kustomization writes a kustomization of its own that does to resources what o says, and where its lines come from.
func (o Overrides) Kustomization(file string, resources ...string) (*Virtual, error) {
	at := func() Position { return Position{Path: file} }
	if len(o.edits) > 0 {
		at = o.edits[0].value.where
	}
	f, _, _ := o.apply(kustomizationOf(at, resources...), func(string) bool { return false })
	v := &Virtual{Path: file, Generated: true}
	return v, v.append(f, f.keys)
}

// Entry is one entry of a list that Overrides have in the kustomization.
type Entry struct {
	Value any // as JSON
	Where Position
}

// Entries lists what Overrides put into a list of the kustomization: "patches", "images".
func (o Overrides) Entries(key string) (list []Entry) {
	for _, e := range o.edits {
		if e.key != key {
			continue
		}
		for _, item := range e.value.elements() {
			list = append(list, Entry{item.plain(), item.position()})
		}
	}
	return list
}

// Where is the field that the first of Overrides is written in.
func (o Overrides) Where() Position {
	if len(o.edits) == 0 {
		return Position{}
	}
	return o.edits[0].value.position()
}
