package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// plan is what is known of a root before it renders: the kustomizations it is made of, the files that hold
// manifests and patches, and everything that stands in the way.
type plan struct {
	root           *origin.Layer
	kustomizations map[string]*kustomization.File // by the file's path
	manifests      map[string]bool                // files whose lines are to be told apart
	reads          map[string]string
	openAPI        bool
	problems       []source.Error
	layers         int
	reported       map[string]bool
}

func (r *Renderer) plan(dir string) *plan {
	p := &plan{kustomizations: map[string]*kustomization.File{}, manifests: map[string]bool{}, reads: map[string]string{},
		reported: map[string]bool{}}
	p.root = r.layer(p, dir, nil, source.Error{Path: dir, Message: "has no kustomization file"})
	return p
}

func (p *plan) problem(e source.Error) {
	key := e.Error()
	if !p.reported[key] {
		p.reported[key] = true
		p.problems = append(p.problems, e)
	}
}

// refuse adds the problem of a node of a file.
func (p *plan) refuse(path string, at *yaml.Node, format string, args ...any) {
	p.problem(source.Error{Path: path, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)})
}

// layer walks one kustomization and what it includes. missing is the problem to report where the folder has
// no kustomization.
func (r *Renderer) layer(p *plan, dir string, above []string, missing source.Error) *origin.Layer {
	f, err := r.kustomization(dir)
	if err != nil {
		var e *source.Error
		if !errors.As(err, &e) {
			e = &source.Error{Path: dir, Message: err.Error()}
		}
		p.problem(*e)
		return nil
	}
	if f == nil {
		p.problem(missing)
		return nil
	}
	if p.layers++; p.layers > r.limits.Layers {
		p.problem(source.Error{Path: f.Path,
			Message: fmt.Sprintf("is one of more than %d kustomizations that this root includes, counted each time: bases "+
				"that include each other's multiples grow without end", r.limits.Layers)})
		return nil
	}
	p.kustomizations[f.Path] = f
	p.openAPI = p.openAPI || f.OpenAPI
	for _, chart := range f.Helm {
		p.refuse(f.Path, chart, "uses helmCharts, which need the helm program: Lintel does not run it, so this root is not "+
			"checked; render the chart into a file, or exclude the root in .lintel.yaml")
	}
	for _, in := range f.Inline {
		documents, err := source.Parse(f.Path, []byte(in.Node.Value), r.limits.Source)
		var e *source.Error
		if errors.As(err, &e) {
			p.refuse(f.Path, in.Node, "%s: %s", in.Field, e.Message)
		}
		for _, d := range documents {
			if at := fetched(d, false); in.Role == kustomization.Plugin && at != nil {
				p.refuse(f.Path, in.Node, notFetched, in.Field, at.Value)
			}
		}
	}
	layer := &origin.Layer{File: f}
	above = append(above, dir)
	for _, ref := range f.Refs {
		if p.layers > r.limits.Layers {
			break
		}
		r.ref(p, layer, ref, above)
	}
	return layer
}

func (r *Renderer) ref(p *plan, layer *origin.Layer, ref kustomization.Ref, above []string) {
	f := layer.File
	fail := func(format string, args ...any) {
		p.problem(source.Error{Path: f.Path, Line: ref.Line, Column: ref.Column, Message: fmt.Sprintf(format, args...)})
	}
	if kustomization.Remote(ref.Value) {
		fail(notFetched, ref.Field, ref.Value)
		return
	}
	named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
	if !ok || strings.HasPrefix(ref.Value, "/") {
		fail("%s: %q leads out of the repository", ref.Field, ref.Value)
		return
	}
	real, entry, err := r.tree.Lookup(named)
	switch {
	case errors.Is(err, tree.ErrNotExist):
		p.reads[named] = ""
		fail("%s: %q does not exist", ref.Field, ref.Value)
		return
	case err != nil:
		fail("%s: %q cannot be read", ref.Field, ref.Value)
		return
	}
	if real != named {
		if layer.Links == nil {
			layer.Links = map[string]string{}
		}
		layer.Links[named] = real
	}
	folder := entry.Kind == tree.Dir
	switch {
	case folder && (ref.Role == kustomization.Resource || ref.Role == kustomization.Component ||
		ref.Role == kustomization.Plugin):
		if slices.Contains(above, real) {
			fail("%s: %q includes itself: %s", ref.Field, ref.Value, strings.Join(append(above, real), " -> "))
			return
		}
		if len(above) >= r.limits.Depth {
			fail("%s: %q is more than %d bases deep", ref.Field, ref.Value, r.limits.Depth)
			return
		}
		child := r.layer(p, real, above, source.Error{Path: f.Path, Line: ref.Line, Column: ref.Column,
			Message: fmt.Sprintf("%s: the folder %q has no kustomization file", ref.Field, ref.Value)})
		if child == nil {
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
		fail("%s: %q is a folder, but a file is expected", ref.Field, ref.Value)
	case entry.Kind != tree.File:
		fail("%s: %q is a git submodule, which Lintel does not read", ref.Field, ref.Value)
	case ref.Role == kustomization.Component:
		fail("%s: %q is a file, but a component is a folder", ref.Field, ref.Value)
	case ref.Role == kustomization.Resource || ref.Role == kustomization.Patch:
		r.manifest(p, layer, ref, real, fail)
	case ref.Role == kustomization.Plugin:
		layer.Plugins = append(layer.Plugins,
			origin.Plugin{Field: ref.Field, Entry: ref.Value, Part: origin.Part{Path: real}})
		r.plugin(p, real, fail)
	}
}

// plugin refuses configurations of plugins that are programs: only kustomize's own are run
// (https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#plugin).
func (r *Renderer) plugin(p *plan, name string, fail func(string, ...any)) {
	data, _, err := r.read(name)
	if err != nil {
		fail("%s cannot be read", name)
		return
	}
	documents, err := source.Parse(name, data, r.limits.Source)
	var e *source.Error
	if errors.As(err, &e) {
		p.problem(*e)
	}
	for _, d := range documents {
		if at := fetched(d, false); at != nil {
			p.refuse(name, at, notFetched, "path", at.Value)
		}
		if kind := source.Text(d, "kind"); strings.HasPrefix(kind, "HelmChart") {
			p.refuse(name, d, "the generator %s needs the helm program: Lintel does not run it, so what includes this is not "+
				"checked; render the chart into a file, or exclude the root in .lintel.yaml", kind)
		} else if source.Text(d, "apiVersion") != "builtin" {
			p.refuse(name, d, "configures the plugin %q, which is a program: Lintel does not run it, so what includes this is "+
				"not checked; exclude the root in .lintel.yaml", kind)
		}
	}
}

const notFetched = "%s: %q is not in this repository: Lintel does not fetch anything; copy it into the repository, " +
	"or exclude the root in .lintel.yaml"

// loaded are the fields of the built-in plugins' configurations that name files; letter case does not count in them
// (https://kubectl.docs.kubernetes.io/references/kustomize/builtins/).
var loaded = []string{"path", "paths", "files", "envs", "env"}

// fetched returns a scalar of a plugin's configuration that kustomize would fetch, nil where there is none. A field
// around the node names files, or it does not.
func fetched(n *yaml.Node, named bool) *yaml.Node {
	n = source.Deref(n)
	if n.Kind == yaml.ScalarNode {
		value := source.Key(n)
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
			name := source.Key(n.Content[i-1])
			below = named || slices.ContainsFunc(loaded, func(l string) bool { return strings.EqualFold(l, name) })
		}
		if at := fetched(c, below); at != nil {
			return at
		}
	}
	return nil
}

// manifest vets a file that kustomize will parse: what multiplies or cannot be parsed must not reach it.
func (r *Renderer) manifest(p *plan, layer *origin.Layer, ref kustomization.Ref, name string,
	fail func(string, ...any)) {
	if ref.Role == kustomization.Resource {
		layer.Resources = append(layer.Resources, origin.Part{Path: name})
	}
	if p.manifests[name] {
		return
	}
	p.manifests[name] = true
	data, _, err := r.read(name)
	var large *tree.TooLargeError
	switch {
	case errors.As(err, &large):
		p.problem(source.Error{Path: name, Message: large.Error()})
		return
	case err != nil:
		fail("%s: %q cannot be read", ref.Field, ref.Value)
		return
	}
	var e *source.Error
	if err := source.Vet(name, data, r.limits.Source); errors.As(err, &e) {
		p.problem(*e)
	}
	// Kustomize takes for JSON what starts with a bracket, and does not see it behind our blank lines.
	if ref.Role == kustomization.Patch && len(data) > 0 && data[0] == '[' && !json.Valid(data) {
		p.problem(source.Error{Path: name, Line: 1, Message: "starts like JSON and is none: put quotes around names and " +
			"texts, or write it as YAML"})
	}
}
