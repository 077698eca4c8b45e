package render

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/trial"
)

// Notes lists what the rendering of a release assumes about the cluster: API versions that are missing and the
// resources left out for them, look-ups that the repository does not answer, upgrades, and schemas that were not
// checked. It may render again, so call it only for renderings that are shown.
func (r *Rendering) Notes(ctx context.Context) []doc.Error {
	if r == nil || r.notes == nil {
		return nil
	}
	return r.notes(ctx)
}

// keepNotes caches the notes of a rendering together with its places.
func (r *Renderer) keepNotes(out *Rendering) {
	find := out.notes
	if find == nil || out.asked == nil {
		return
	}
	out.notes = func(ctx context.Context) (list []doc.Error) {
		key, now := r.ownKey(out.target), asker{r, out.target}
		if list, ok := env.Get[[]doc.Error](r.kept(), notesTable, key, now); ok {
			return list
		}
		if list = find(ctx); ctx.Err() == nil {
			env.Put(r.kept(), notesTable, key, r.askedWritten(out.target, out.asked), list)
		}
		return list
	}
}

// noted sets the notes of a rendering, if there may be any.
func (s *release) noted(out *Rendering) {
	if o := s.output; len(o.Absent)+len(o.Lookups)+len(o.Unvalidated) > 0 || o.Phased && s.target.Kind == roots.HelmRelease {
		out.notes = s.notes
	}
}

func (s *release) notes(ctx context.Context) (list []doc.Error) {
	at := s.spec.Chart.Where
	add := func(format string, args ...any) {
		list = append(list, doc.Error{Path: at.Path, Line: at.Line, Column: at.Column,
			Message: fmt.Sprintf(format, args...)})
	}
	for _, left := range s.leftOut(ctx) {
		name := s.target.clusters()[0].Name
		if name == "" {
			name = "NAME"
		}
		add("the chart leaves out %s, because nothing in this repository says that the cluster has %s: if it does, "+
			"list that under "+
			"clusters.%s.apiVersions in .lintel.yaml", several(left.objects), left.version, name)
	}
	var missing, lists []string
	for _, l := range s.output.Lookups {
		if l.Name == "" {
			lists = append(lists, lookedUp(l))
		} else {
			missing = append(missing, lookedUp(l))
		}
	}
	if len(missing) > 0 {
		add("the chart looks up %s in the cluster (lookup), which nothing in this repository declares: it is checked "+
			"as if that did not exist", several(missing))
	}
	if len(lists) > 0 {
		add("the chart looks up %s in the cluster (lookup): it is checked with those that this repository declares",
			several(lists))
	}
	if s.output.Phased && s.target.Kind == roots.HelmRelease { // Argo CD renders as if it always installs
		if out, err := s.trial.Try(ctx, trial.Edit{Upgrade: true}); err != nil || !slices.Equal(out.Manifests, s.output.Manifests) {
			add("the chart renders differently on upgrade than on installation (.Release.IsUpgrade, " +
				".Release.Revision): only the installation is checked")
		}
	}
	for _, chart := range s.output.Unvalidated {
		add("the values were not validated against the schema of the chart %s: the schema refers to other documents, "+
			"which Lintel does not fetch", chart)
	}
	return list
}

// lookedUp describes a look-up.
func lookedUp(l helm.Lookup) string {
	switch {
	case l.Name == "" && l.Namespace == "":
		return "all of kind " + l.Kind
	case l.Name == "":
		return "all of kind " + l.Kind + " in the namespace " + l.Namespace
	case l.Namespace == "":
		return l.Kind + " " + l.Name
	}
	return l.Kind + " " + l.Namespace + "/" + l.Name
}

// fewNames is the number of names that a message lists.
const fewNames = 3

func several(names []string) string {
	if more := len(names) - fewNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:fewNames], ", "), more)
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " and " + names[n]
	}
	return strings.Join(names, "")
}

// left is what a chart does not print because an API version is missing.
type left struct {
	version string
	objects []string // "ServiceMonitor app"
}

// maxGranted is how many API versions are tried one by one.
const maxGranted = 8

// leftOut returns what a chart would print in addition if the cluster had the missing API versions that the chart asked
// for.
func (s *release) leftOut(ctx context.Context) (list []left) {
	absent := s.output.Absent
	if len(absent) == 0 {
		return nil
	}
	own := map[string]bool{}
	for _, m := range s.output.Manifests {
		own[m.Text] = true
	}
	// Manifests that are the same as before are not parsed, which are most of a chart.
	more := func(versions ...string) (objects []printedObject) {
		out, err := s.trial.Try(ctx, trial.Edit{Cluster: &trial.Cluster{Kubernetes: s.options.Kubernetes,
			APIVersions: slices.Concat(s.options.APIVersions, versions)}})
		if err != nil {
			return nil
		}
		before, now := map[string]bool{}, map[string]bool{}
		for _, m := range out.Manifests {
			now[m.Text] = true
		}
		for _, m := range s.output.Manifests {
			if !now[m.Text] {
				for _, o := range printedObjects(m) {
					before[o.name] = true // the object is printed before, too, only differently
				}
			}
		}
		for _, m := range out.Manifests {
			if own[m.Text] {
				continue
			}
			for _, o := range printedObjects(m) {
				if !before[o.name] && !slices.Contains(objects, o) {
					objects = append(objects, o)
				}
			}
		}
		return objects
	}
	rest := more(absent...)
	add := func(version string, objects []printedObject) {
		var names []string
		for _, o := range objects {
			names = append(names, o.name)
		}
		if len(names) > 0 {
			list = append(list, left{version, names})
		}
	}
	for _, version := range absent { // the missing version is nearly always that of the object itself
		is := func(o printedObject) bool { return o.apiVersion == version || o.apiVersion+"/"+o.kind == version }
		if len(absent) > 1 {
			add(version, slices.DeleteFunc(slices.Clone(rest), func(o printedObject) bool { return !is(o) }))
			rest = slices.DeleteFunc(rest, is)
		}
	}
	if len(absent) > 1 && len(absent) <= maxGranted {
		for _, version := range absent {
			if len(rest) == 0 {
				break
			}
			objects := slices.DeleteFunc(more(version), func(o printedObject) bool { return !slices.Contains(rest, o) })
			add(version, objects)
			rest = slices.DeleteFunc(rest, func(o printedObject) bool { return slices.Contains(objects, o) })
		}
	}
	add(several(absent), rest)
	return list
}

type printedObject struct{ apiVersion, kind, name string } // name: "ServiceMonitor app"

// printedObjects lists the objects in a manifest, in their order.
func printedObjects(m helm.Manifest) (list []printedObject) {
	for _, n := range m.Objects(doc.Limits{}) {
		if kind := doc.Text(n, "kind"); kind != "" {
			list = append(list, printedObject{doc.Text(n, "apiVersion"), kind, kind + " " + doc.Text(n, "metadata", "name")})
		}
	}
	return list
}
