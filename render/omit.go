package render

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// omit removes from a plan the entries that cannot be built, and the entries that depend on them: a patch of a missing
// object would fail the build. It returns false where the rest cannot be rendered without them.
func (b *builder) omit(p *plan) bool {
	if p.whole || p.root == nil || len(p.omitted)+len(p.values)+len(p.charts) == 0 {
		return !p.whole && p.root != nil
	}
	d := &dependants{builder: b, plan: p, kept: map[entry]bool{}, dropped: map[entry]bool{}}
	if len(p.omitted) > 0 {
		d.layer(p.root, nil, false)
	}
	if d.unclear {
		return false
	}
	without := map[string]*kustomization.File{}
	p.texts = map[string][]byte{}
	for file, f := range p.kustomizations {
		edits := kustomization.Edits{Without: slices.Clone(p.omitted[file]), Values: p.values[file]}
		for _, chart := range p.charts[file] {
			if !slices.Contains(p.omitted[file], chart.at) {
				edits.Components = append(edits.Components, chart.component)
			}
			if !slices.Contains(edits.Without, chart.at) {
				edits.Without = append(edits.Without, chart.at)
			}
		}
		if len(edits.Without) == 0 && len(edits.Values) == 0 {
			continue
		}
		data, _, err := b.read(file)
		if err != nil {
			return false
		}
		f, text, ok := f.Edit(data, edits)
		if !ok {
			p.report(doc.Error{Path: file, Line: 1, Unknown: true, Message: "has aliases (*), and an entry that is " +
				"not in this repository: replace the aliases with their values to have the rest checked"})
			return false
		}
		if p.texts[file] = text; len(p.omitted[file]) > 0 {
			without[file] = f
		}
	}
	p.prune(p.root, without)
	return true
}

// prune removes the omitted entries from the layers.
func (p *plan) prune(l *origin.Layer, without map[string]*kustomization.File) {
	if f := without[l.File.Path]; f != nil {
		l.File = f
		l.Plugins = slices.DeleteFunc(l.Plugins, func(one origin.Plugin) bool {
			return !slices.ContainsFunc(f.Refs, func(ref kustomization.Ref) bool {
				return ref.Field == one.Field && ref.Value == one.Entry
			})
		})
	}
	l.Resources = slices.DeleteFunc(l.Resources, func(part origin.Part) bool {
		return part.Layer == nil && p.broken[part.Path] != nil || part.Layer != nil && p.broken[part.Layer.File.Dir] != nil
	})
	l.Components = slices.DeleteFunc(l.Components, func(c *origin.Layer) bool { return p.broken[c.File.Dir] != nil })
	for _, part := range l.Resources {
		if part.Layer != nil {
			p.prune(part.Layer, without)
		}
	}
	for _, c := range l.Components {
		p.prune(c, without)
	}
}

// culprits finds the causes of a failed build: files that cannot be read, or folders that do not build by themselves. It
// returns false where it found nothing new to omit.
func (b *builder) culprits(p *plan) bool {
	found := false
	blame := func(name string, list ...doc.Error) {
		if p.broken[name] != nil || len(p.named[name]) == 0 || len(list) == 0 {
			return
		}
		p.broken[name], found = &list[0], true
		for _, at := range p.named[name] {
			for _, e := range list {
				p.without(at, e)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.manifests)) {
		data, _, err := b.read(name)
		if err != nil {
			continue
		}
		var e *doc.Error
		if _, err := doc.Parse(name, data, b.limits.Source); errors.As(err, &e) {
			blame(name, *e)
		}
	}
	if found {
		return true
	}
	var within func(*origin.Layer)
	within = func(l *origin.Layer) {
		for _, part := range l.Resources {
			if part.Layer == nil {
				continue
			}
			dir := part.Layer.File.Dir
			list, partial := b.obstacles(p, dir)
			if blame(dir, list...); partial { // what it had to leave out is to be left out here, too
				within(part.Layer)
			}
		}
	}
	within(p.root)
	for file, list := range p.charts {
		for _, chart := range list {
			dir := chart.mount.prefix
			if chart.mount.copies != nil {
				continue
			}
			if mistakes, _ := b.obstacles(p, dir+"/output"); p.broken[dir] == nil && len(mistakes) > 0 {
				p.broken[dir], found = &mistakes[0], true
				p.without(entry{file, chart.at}, mistakes[0])
			}
		}
	}
	return found
}

// obstacles returns the problems that prevent the build of a folder that others include, and records for the plan what they
// depend on. partial says that it builds without some of its entries. The result is cached: often many include one folder.
func (b *builder) obstacles(p *plan, dir string) (list []doc.Error, partial bool) {
	one := b.failed.Get(dir, func() failedBuild {
		out, problems := b.build(roots.Root{Path: dir})
		if out.Partial {
			problems = nil
		}
		return failedBuild{&Rendering{Reads: out.Reads, links: out.links, Partial: out.Partial}, problems}
	})
	maps.Copy(p.reads, one.Reads)
	maps.Copy(p.links, one.links)
	p.fleeting = p.fleeting || one.links == nil
	return one.list, one.Partial
}

// failedBuild is what obstacles keeps of a build.
type failedBuild struct {
	*Rendering
	list []doc.Error
}

// object is the kind and name by which a manifest or a patch identifies an object.
type object struct{ kind, name string }

// dependants finds the entries that cannot be built without the omitted ones.
type dependants struct {
	builder *builder
	plan    *plan
	kept    map[entry]bool // entries whose objects exist in at least one place
	dropped map[entry]bool
	unclear bool // it is not known what the remaining entries would render
}

// layer returns the objects of a layer, and whether part of the layer is missing. around are the objects of the layers
// that include it as a component. lacks says that part of those is missing.
func (d *dependants) layer(l *origin.Layer, around []object, lacks bool) (own []object, missing bool) {
	p := d.plan
	missing = len(p.omitted[l.File.Path]) > 0
	for _, part := range l.Resources {
		if part.Layer == nil {
			own = append(own, d.written(part.Path)...)
			continue
		}
		below, lacking := d.layer(part.Layer, nil, false)
		own, missing = append(own, below...), missing || lacking
	}
	for field, kind := range generated {
		for _, item := range doc.Items(l.File.Node, field) {
			if behavior := doc.Text(item, "behavior"); behavior == "" || behavior == "create" {
				own = append(own, object{kind, doc.Text(item, "name")})
			}
		}
	}
	known := slices.Concat(around, own)
	for _, c := range l.Components {
		below, lacking := d.layer(c, known, lacks || missing)
		own, known, missing = append(own, below...), append(known, below...), missing || lacking
	}
	if missing || lacks {
		d.entries(l, known)
	}
	return own, missing
}

var generated = map[string]string{"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}

// entries omits the entries of a layer that need missing objects.
func (d *dependants) entries(l *origin.Layer, known []object) {
	judge := func(item *yaml.Node, needs ...object) {
		at := entryAt(l.File, item)
		absent := slices.DeleteFunc(slices.Clone(needs), func(o object) bool { return has(known, o) })
		switch {
		case !d.dropped[at] && slices.Contains(d.plan.omitted[at.file], at.at):
		case len(absent) == 0:
			d.unclear = d.unclear || d.dropped[at]
			d.kept[at] = true
		case len(absent) < len(needs) || d.kept[at]:
			d.unclear = true // the entry also changes objects that exist
		case !d.dropped[at]:
			d.dropped[at] = true
			d.plan.omitted[at.file] = append(d.plan.omitted[at.file], at.at)
		}
	}
	n := l.File.Node
	for _, item := range doc.Items(n, "patchesStrategicMerge") {
		judge(item, d.patched(l, item)...)
	}
	for _, item := range doc.Items(n, "patches") {
		if _, target := doc.Field(item, "target"); target == nil {
			_, patch := doc.Field(item, "patch")
			if _, file := doc.Field(item, "path"); file != nil {
				patch = file
			}
			judge(item, d.patched(l, patch)...)
		}
	}
	for _, item := range doc.Items(n, "patchesJson6902") {
		_, target := doc.Field(item, "target")
		judge(item, nameOf(target))
	}
	for _, item := range doc.Items(n, "replicas") {
		judge(item, object{"", doc.Text(item, "name")})
	}
	for field, kind := range generated {
		for _, item := range doc.Items(n, field) {
			if behavior := doc.Text(item, "behavior"); behavior == "merge" || behavior == "replace" {
				judge(item, object{kind, doc.Text(item, "name")})
			}
		}
	}
	for _, item := range doc.Items(n, "replacements") {
		if _, from := doc.Field(item, "source"); from != nil && !has(known, nameOf(from)) {
			d.unclear = true // the value that it would copy is not known
		}
	}
}

func nameOf(n *yaml.Node) object { return object{doc.Text(n, "kind"), doc.Text(n, "name")} }

// has reports whether an object of that name may exist. A prefix or suffix may have been added to its written name.
func has(known []object, o object) bool {
	return slices.ContainsFunc(known, func(k object) bool {
		return (o.kind == "" || k.kind == o.kind) && (o.name == "" || k.name != "" && strings.Contains(o.name, k.name))
	})
}

// patched lists the objects of a strategic merge patch, which is a file or inline text.
func (d *dependants) patched(l *origin.Layer, patch *yaml.Node) []object {
	if patch == nil {
		return nil
	}
	for _, in := range l.File.Refs {
		if in.Role == kustomization.Patch && in.Line == patch.Line && in.Column == patch.Column {
			return d.written(l.File.Dir + "/" + in.Value)
		}
	}
	documents, _ := doc.Parse(l.File.Path, []byte(patch.Value), d.builder.limits.Source)
	return objectsOf(documents)
}

// written lists the objects in a file.
func (d *dependants) written(name string) []object {
	data, _, err := d.builder.read(name)
	if err != nil {
		return nil
	}
	documents, _ := doc.Parse(name, data, d.builder.limits.Source)
	return objectsOf(documents)
}

func objectsOf(documents []*yaml.Node) (list []object) {
	for n := range doc.Objects(documents) {
		if kind := doc.Text(n, "kind"); kind != "" {
			list = append(list, object{kind, doc.Text(n, "metadata", "name")})
		}
	}
	return list
}
