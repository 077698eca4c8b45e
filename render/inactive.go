package render

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/gitops"
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
