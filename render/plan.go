package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/tree"
)

// plan is what is known of a root before it is rendered: its kustomizations, its manifests and patches, and the
// problems that keep parts of it from being rendered.
type plan struct {
	root           *origin.Layer
	kustomizations map[string]*kustomization.File // by the file's path
	manifests      map[string]bool                // manifests and patches, whose lines must be distinguishable
	data           map[string]bool                // files that generators read, whose bytes are deployed
	files          map[string]bool                // files that kustomizations name, also outside their folders
	reads          map[string]string
	openAPI        bool
	problems       []doc.Error
	layers         int
	reported       map[string]bool

	whole   bool                                // a problem concerns the whole root: none of it can be rendered
	omitted map[string][]kustomization.Position // the entries to leave out, by the file of the kustomization
	named   map[string][]entry                  // the entries that name a manifest, a patch or a folder
	broken  map[string]*doc.Error               // manifests and patches that were vetted, with the problem of each
	texts   map[string][]byte                   // of the kustomizations, as kustomize sees them; missing: as they are

	values    map[string]map[kustomization.Position]kustomization.Value // replaced values of entries, by file
	charts    map[string][]inflatedEntry                                // inflated charts in order, by the file of the kustomization
	inflated  map[inflationKey]*mount                                   // the mounts of their output
	namespace string                                                    // of the current kustomization or of those that include it
	links     map[string]string
	wants     wants
	fleeting  bool // a problem may disappear although no file changes
	awaits    bool // a remote source is missing that has not been requested yet
}

// entry is an entry of a kustomization's list.
type entry struct {
	file string
	at   kustomization.Position
}

func entryAt(f *kustomization.File, n *yaml.Node) entry {
	return entry{f.Path, kustomization.Position{Line: n.Line, Column: n.Column}}
}

func (b *builder) plan(dir string) *plan {
	p := &plan{kustomizations: map[string]*kustomization.File{}, manifests: map[string]bool{}, data: map[string]bool{},
		files: map[string]bool{}, reads: map[string]string{}, reported: map[string]bool{}, omitted: map[string][]kustomization.Position{}, named: map[string][]entry{},
		broken: map[string]*doc.Error{}, values: map[string]map[kustomization.Position]kustomization.Value{},
		charts: map[string][]inflatedEntry{}, inflated: map[inflationKey]*mount{}, links: map[string]string{},
		wants: wants{}}
	p.root = b.layer(p, dir, nil, doc.Error{Path: dir, Message: "has no kustomization file"}, p.problem)
	return p
}

// reaching returns a function that reports whether a change of a file may reach the root. It does if a kustomization
// names the file, or the file is in or below the folder of one. Where kustomize may read all files, plugins may name
// other files (see roots.Index.Unrestricted). It returns nil where kustomize itself refuses such files.
func (b *builder) reaching(p *plan) func(name string) bool {
	if !b.index.Unrestricted() {
		return nil
	}
	var folders []string
	own := map[string]bool{} // targets of kustomization files that are symlinks
	for _, f := range p.kustomizations {
		folders = append(folders, f.Dir)
		if real, _, err := b.lookup(f.Path); err == nil {
			own[real] = true
		}
		if real, _, err := b.lookup(f.Dir); err == nil && real != f.Dir {
			folders = append(folders, real)
		}
	}
	return func(name string) bool {
		return isMounted(name) || p.files[name] || own[name] || slices.ContainsFunc(folders, func(dir string) bool {
			return dir == "." || strings.HasPrefix(name, dir+"/")
		})
	}
}

// problem adds a problem of the whole root.
func (p *plan) problem(e doc.Error) {
	p.whole = true
	p.report(e)
}

// without adds a problem of one entry. The root can be rendered without that entry.
func (p *plan) without(at entry, e doc.Error) {
	if !slices.Contains(p.omitted[at.file], at.at) {
		p.omitted[at.file] = append(p.omitted[at.file], at.at)
	}
	p.report(e)
}

func (p *plan) report(e doc.Error) {
	key := e.Error()
	if !p.reported[key] {
		p.reported[key] = true
		p.problems = append(p.problems, e)
	}
}

// layer reads one kustomization and those that it includes. missing is the problem to report where the folder has no
// kustomization. fail reports problems that keep the whole layer from being rendered.
func (b *builder) layer(p *plan, dir string, above []string, missing doc.Error,
	fail func(doc.Error)) *origin.Layer {
	for _, name := range kustomization.FileNames() { // kustomize may fail before it reads them
		at := path.Join(dir, name)
		if real, found, err := b.find(at); err == nil {
			noteRead(p.reads, p.links, at, real, found)
		} else if !isMounted(at) {
			p.reads[at] = ""
		}
	}
	f, err := b.kustomization(dir)
	if err != nil {
		var e *doc.Error
		if !errors.As(err, &e) {
			e = &doc.Error{Path: dir, Message: err.Error()}
		}
		fail(*e)
		return nil
	}
	if f == nil {
		fail(missing)
		return nil
	}
	if p.layers++; p.layers > b.limits.Layers {
		p.problem(doc.Error{Path: f.Path,
			Message: fmt.Sprintf("is one of more than %d kustomizations that this root includes, repeated ones "+
				"counted each time: include each base once", b.limits.Layers)})
		return nil
	}
	p.kustomizations[f.Path] = f
	p.openAPI = p.openAPI || f.OpenAPI
	refuse := func(at *yaml.Node, unknown bool, format string, args ...any) {
		p.without(entryAt(f, at), doc.Error{Path: f.Path, Line: at.Line, Column: at.Column,
			Message: fmt.Sprintf(format, args...), Unknown: unknown})
	}
	layer := &origin.Layer{File: f}
	var inline []*inflation
	for _, in := range f.Inline {
		documents, err := doc.Parse(f.Path, []byte(in.Node.Value), b.limits.Source)
		if e, ok := errors.AsType[*doc.Error](err); ok {
			refuse(in.Node, false, "%s: %s", in.Field, e.Message)
		}
		if list := b.generators(f, entryAt(f, in.Node), f.Path, documents); len(list) > 0 && in.Field == "generators" {
			inline = append(inline, list...)
			continue
		}
		if in.Field == "generators" && b.encrypted(p, layer, entryAt(f, in.Node), f.Path, documents, above) {
			continue
		}
		if in.Role == kustomization.Plugin {
			b.plugins(p, dir, documents, in.Field, func(_ *yaml.Node, unknown bool, format string, args ...any) {
				refuse(in.Node, unknown, format, args...)
			})
		}
	}
	above = append(above, dir)
	around := p.namespace
	defer func() { p.namespace = around }()
	if own := doc.Text(f.Node, "namespace"); own != "" {
		p.namespace = own
	}
	charts, err := b.charts(f)
	if err != nil {
		fail(doc.Error{Path: f.Path, Line: f.Helm[0].Line, Message: "helmCharts: must be a list of maps, one for each chart, whose keys are texts"})
		return nil
	}
	for _, chart := range slices.Concat(charts, inline) {
		b.inflate(p, layer, chart, above)
	}
	for _, ref := range f.Refs {
		if p.layers > b.limits.Layers {
			break
		}
		b.ref(p, layer, ref, above)
	}
	return layer
}

func (b *builder) ref(p *plan, layer *origin.Layer, ref kustomization.Ref, above []string) {
	if strings.HasPrefix(ref.Field, "helmCharts.") {
		return // kustomize does not see it: see inflation.load
	}
	f := layer.File
	report := p.problem
	if ref.Role != kustomization.Config {
		report = func(e doc.Error) { p.without(entry{f.Path, ref.Position}, e) }
	}
	errorOf := func(format string, args ...any) doc.Error {
		return doc.Error{Path: f.Path, Line: ref.Line, Column: ref.Column, Message: fmt.Sprintf(format, args...)}
	}
	fail := func(format string, args ...any) { report(errorOf(format, args...)) }
	named, ok := b.mountEntry(p, layer, ref, report, errorOf)
	if !ok {
		return
	}
	real, found, err := b.find(named)
	switch {
	case errors.Is(err, tree.ErrNotExist):
		if !isMounted(named) {
			p.reads[named] = ""
		}
		fail("%s: %q does not exist", ref.Field, ref.Value)
		return
	case err != nil:
		fail("%s: %q cannot be read", ref.Field, ref.Value)
		return
	}
	p.files[real] = true
	if ref.Role == kustomization.Data {
		p.data[real] = true
	}
	folder := found.Kind == tree.Dir
	if !folder { // kustomize itself does not read what is left out
		noteRead(p.reads, p.links, real, real, found)
	}
	if named != path.Join(f.Dir, ref.Value) {
		named = path.Join(f.Dir, ref.Value) // the path as it is written
	}
	if real != named {
		if layer.Links == nil {
			layer.Links = map[string]string{}
		}
		if layer.Links[named] = real; !isMounted(real) {
			p.links[named] = real
		}
	}
	switch {
	case folder && (ref.Role == kustomization.Resource || ref.Role == kustomization.Component ||
		ref.Role == kustomization.Plugin):
		if slices.Contains(above, real) {
			p.problem(errorOf("%s: %q includes itself: %s", ref.Field, ref.Value, strings.Join(append(above, real), " -> ")))
			return
		}
		if len(above) >= b.limits.Depth {
			p.problem(errorOf("%s: %q is more than %d bases deep", ref.Field, ref.Value, b.limits.Depth))
			return
		}
		missing := errorOf("%s: the folder %q has no kustomization file", ref.Field, ref.Value)
		p.named[real] = append(p.named[real], entry{f.Path, ref.Position})
		child := b.layer(p, real, above, missing, report)
		if child == nil {
			noteRead(p.reads, p.links, real, real, found)
			return
		}
		switch ref.Role {
		case kustomization.Resource:
			layer.Resources = append(layer.Resources, origin.Part{Layer: child})
		case kustomization.Component:
			layer.Components = append(layer.Components, child)
		case kustomization.Plugin:
			layer.Plugins = append(layer.Plugins,
				origin.Plugin{Field: ref.Field, Entry: ref.Value, Part: origin.Part{Layer: child}})
		}
	case folder:
		noteRead(p.reads, p.links, real, real, found)
		fail("%s: %q is a folder, but a file is expected", ref.Field, ref.Value)
	case found.Kind != tree.File:
		e := errorOf("%s: %q is a git submodule, which Lintel does not read", ref.Field, ref.Value)
		e.Unknown = true
		report(e)
	case ref.Role == kustomization.Component:
		fail("%s: %q is a file, but a component is a folder", ref.Field, ref.Value)
	case ref.Role == kustomization.Resource || ref.Role == kustomization.Patch:
		b.manifest(p, layer, ref, real, errorOf)
	case ref.Role == kustomization.Plugin:
		data, _, err := b.read(real)
		if err == nil && ref.Field == "generators" {
			documents, err := doc.Parse(real, data, b.limits.Source)
			if list := b.generators(f, entry{f.Path, ref.Position}, real, documents); err == nil && len(list) > 0 {
				for _, chart := range list {
					b.inflate(p, layer, chart, above)
				}
				return
			}
			if err == nil && b.encrypted(p, layer, entry{f.Path, ref.Position}, real, documents, above) {
				return
			}
		}
		layer.Plugins = append(layer.Plugins,
			origin.Plugin{Field: ref.Field, Entry: ref.Value, Part: origin.Part{Path: real}})
		b.plugin(p, f.Dir, real, report, errorOf)
	}
}

// plugin refuses plugins that are programs, as only kustomize's own plugins are run
// (https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#plugin).
func (b *builder) plugin(p *plan, dir, name string, report func(doc.Error), errorOf func(string, ...any) doc.Error) {
	data, _, err := b.read(name)
	if err != nil {
		report(errorOf("%s cannot be read", name))
		return
	}
	documents, err := doc.Parse(name, data, b.limits.Source)
	if e, ok := errors.AsType[*doc.Error](err); ok {
		report(*e)
	}
	b.plugins(p, dir, documents, "path", func(at *yaml.Node, unknown bool, format string, args ...any) {
		report(doc.Error{Path: name, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...),
			Unknown: unknown})
	})
}

// plugins refuses configurations of plugins that fetch or run something. field is the field that contains them, and dir
// the folder of the kustomization.
func (b *builder) plugins(p *plan, dir string, documents []*yaml.Node, field string, refuse func(*yaml.Node, bool, string, ...any)) {
	for _, d := range documents {
		if at := fetched(d, false); at != nil {
			refuse(at, true, notFetched, field, at.Value)
		}
		if kind := doc.Text(d, "kind"); strings.HasPrefix(kind, "HelmChart") {
			refuse(d, true, "the generator %s needs the helm program: Lintel does not run it, so what it generates "+
				"is not checked; render the chart into a file", kind)
		} else if doc.Text(d, "apiVersion") != "builtin" {
			b.runs(p, dir, d)
			refuse(d, true, "configures the plugin %q, which is a program: Lintel does not run it, so what it does is not "+
				"checked", kind)
		}
	}
}

// runs records the files of a folder that the configuration of a program names: it may be one of them, or read it.
func (b *builder) runs(p *plan, dir string, n *yaml.Node) {
	for _, word := range strings.FieldsFunc(n.Value, func(r rune) bool { return strings.ContainsRune(" \t\n\"'{}[],=", r) }) {
		real, e, err := b.lookup(path.Join(dir, word))
		if err == nil && e.Kind == tree.File && !isMounted(real) {
			p.reads[real] = e.ID
		}
	}
	for _, child := range n.Content {
		b.runs(p, dir, child)
	}
}

const notFetched = "%s: %q is not in this repository, and Lintel does not fetch anything: copy it into the repository " +
	"to have it checked"

// loaded are the fields of built-in plugins that name files. Kustomize ignores their letter case
// (https://kubectl.docs.kubernetes.io/references/kustomize/builtins/).
var loaded = []string{"path", "paths", "files", "envs", "env"}

// fetched returns a scalar of a plugin's configuration that kustomize would fetch, nil where there is none. named says
// that a field around the node names files.
func fetched(n *yaml.Node, named bool) *yaml.Node {
	n = doc.Deref(n)
	if n.Kind == yaml.ScalarNode {
		value := doc.Key(n)
		_, after, _ := strings.Cut(value, "=")
		if named && (kustomization.Address(after) || kustomization.Address(value)) {
			return n
		}
		return nil
	}
	for i, c := range n.Content {
		below := named
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			name := doc.Key(n.Content[i-1])
			below = named || slices.ContainsFunc(loaded, func(l string) bool { return strings.EqualFold(l, name) })
		}
		if at := fetched(c, below); at != nil {
			return at
		}
	}
	return nil
}

// manifest vets a file that kustomize will parse. Files that expand without limit or cannot be parsed are omitted.
func (b *builder) manifest(p *plan, layer *origin.Layer, ref kustomization.Ref, name string,
	errorOf func(string, ...any) doc.Error) {
	at := entry{layer.File.Path, ref.Position}
	p.named[name] = append(p.named[name], at)
	p.manifests[name] = true
	problem, known := p.broken[name]
	if !known {
		problem = b.vet(name, ref, errorOf)
		p.broken[name] = problem
	}
	switch {
	case problem != nil:
		p.without(at, *problem)
	case ref.Role == kustomization.Resource:
		layer.Resources = append(layer.Resources, origin.Part{Path: name})
	}
}

// vet returns the problem with a manifest or a patch that kustomize cannot read.
func (b *builder) vet(name string, ref kustomization.Ref, errorOf func(string, ...any) doc.Error) *doc.Error {
	data, _, err := b.read(name)
	var large *tree.TooLargeError
	switch {
	case errors.As(err, &large):
		return &doc.Error{Path: name, Message: large.Error()}
	case err != nil:
		e := errorOf("%s: %q cannot be read", ref.Field, ref.Value)
		return &e
	}
	if e, ok := errors.AsType[*doc.Error](doc.Vet(name, data, b.limits.Source)); ok {
		return e
	}
	// Kustomize takes a patch that starts with a bracket for JSON. The blank lines that Lintel puts in front of a patch
	// hide the bracket.
	if ref.Role == kustomization.Patch && len(data) > 0 && data[0] == '[' && !json.Valid(data) {
		return &doc.Error{Path: name, Line: 1, Message: "starts like JSON but is not valid JSON: put quotes around names and " +
			"texts, or write it as YAML"}
	}
	return nil
}
