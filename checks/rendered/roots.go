package rendered

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// ByRoot counts the changed resources of each root, in the order of the roots. Changes of a version label only do not
// count. A folder that an object of Argo CD or Flux deploys counts as that object's root. Policies and exceptions in a
// folder that nobody is known to deploy do not count: the preview lists them. It fails only if the context ends.
func ByRoot(ctx context.Context, c Change) (list []report.RootChange, err error) {
	edits := sorted(editsOf(c.Pairs))
	deployed := map[string]bool{}
	for _, e := range edits {
		deployed[e.root.Path] = deployed[e.root.Path] || e.root.Object != ""
	}
	row := map[string]int{} // by name and clusters: an object that deploys another folder than before is two roots with one row
	for _, e := range edits {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
		}
		was, now := e.versions()
		if diff.Same(was, now) && !e.moved() || e.root.Object == "" && deployed[e.root.Path] ||
			e.root.Kind == roots.Folder && e.root.Object == "" && isRule(now) && isRule(was) ||
			was != nil && now != nil && !e.moved() && sameButVersion(was, now) {
			continue
		}
		in := report.RootChange{Root: e.root.Name()}
		if c.Clusters != nil {
			in.Clusters = clustersOf([]*edit{e}, c.Clusters)
		}
		name := strings.Join(append(in.Clusters, in.Root), "\n")
		if _, ok := row[name]; !ok {
			row[name], list = len(list), append(list, in)
		}
		one := &list[row[name]]
		switch {
		case was == nil:
			one.Added++
		case now == nil:
			one.Removed++
		default:
			one.Changed++
		}
		one.Images = append(one.Images, imageChanges(e.named(), was, now)...)
	}
	for i := range list {
		list[i].Images = withoutMoved(list[i].Images)
	}
	return list, nil
}

// isRule reports whether an object is a policy or an exception, or there is none.
func isRule(o map[string]any) bool {
	id := admission.IdentityOf(o)
	return o == nil || engine.IsRule(id.Group, id.Kind)
}
