package trial

import (
	"context"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
)

// Changes are the differences that an edit of the values makes.
type Changes struct {
	Known  bool // the edit was tried; it may have failed to render
	Failed bool
	Was    map[string]*yaml.Node // the objects that are removed or changed, as without the edit, by Name
	Now    map[string]*yaml.Node // the objects that are changed or added, as with the edit, by Name
}

// Name identifies an object within a release.
func Name(object *yaml.Node) string {
	return doc.Text(object, "kind") + " " + doc.Text(object, "metadata", "namespace") + " " + doc.Text(object, "metadata", "name")
}

// manyTemplates is for how many templates an edit is tried separately before it is tried for all of them together.
const manyTemplates = 3

// ChangesIn returns what an edit changes in the output of one template. If the same edit was asked for several
// templates, it renders all of them together; the result is the same unless another template fails.
func (r *Release) ChangesIn(ctx context.Context, template string, e Edit) *Changes {
	if !r.Isolated(ctx, template) {
		return r.Changes(ctx, e)
	}
	one, key := e, e.key()
	one.Template = template
	r.mu.Lock()
	known := r.changes[one.key()]
	many := r.asked[key] >= manyTemplates
	if known == nil && !many {
		r.asked[key]++
	}
	r.mu.Unlock()
	if known != nil {
		return known
	}
	if many {
		if all := r.Changes(ctx, e); !all.Failed && all.Known {
			return all
		}
	}
	return r.Changes(ctx, one)
}

// Changes returns what an edit changes in the whole output.
func (r *Release) Changes(ctx context.Context, e Edit) *Changes {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := e.key()
	c := r.changes[key]
	if c == nil {
		c = r.compare(ctx, e)
		r.changes[key] = c
	}
	return c
}

func (r *Release) compare(ctx context.Context, e Edit) *Changes {
	whole, err := r.unedited(ctx)
	if err != nil || r.left <= 0 {
		return &Changes{}
	}
	out, err := r.try(ctx, e)
	failed, ok := errors.AsType[*helm.Error](err)
	c := &Changes{Known: err == nil || ok && failed.Cause != helm.CauseLimit, Failed: err != nil}
	if err != nil {
		return c
	}
	type printed struct{ template, text string }
	counts := func(m helm.Manifest) bool { return e.Template == "" || m.Template == e.Template }
	before, after := map[printed]bool{}, map[printed]bool{}
	for _, m := range whole.Manifests {
		before[printed{m.Template, m.Text}] = counts(m)
	}
	for _, m := range out.Manifests {
		after[printed{m.Template, m.Text}] = true
	}
	c.Was = r.named(whole, func(m helm.Manifest) bool { return counts(m) && !after[printed{m.Template, m.Text}] })
	c.Now = r.named(out, func(m helm.Manifest) bool { return !before[printed{m.Template, m.Text}] })
	return c
}

// Isolated reports whether a template prints the same alone as together with the others: some charts modify values
// while they render.
func (r *Release) Isolated(ctx context.Context, template string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.isolated[template]; !known && !r.apart {
		whole, err := r.unedited(ctx)
		if err == nil {
			var out *helm.Output
			out, err = r.try(ctx, Edit{Template: template, AnyValues: true})
			r.isolated[template] = err == nil && out.Files[template] == whole.Files[template]
		}
	}
	return r.apart || r.isolated[template]
}

// named returns the objects of the chosen manifests by their names.
func (r *Release) named(out *helm.Output, of func(helm.Manifest) bool) map[string]*yaml.Node {
	objects := map[string]*yaml.Node{}
	for _, m := range out.Manifests {
		if of(m) {
			for _, object := range m.Objects(r.limits) {
				objects[Name(object)] = object
			}
		}
	}
	return objects
}
