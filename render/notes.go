package render

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/source"
)

// Notes lists what a rendering of a release assumes of the cluster and whoever reads it should know: resources that are
// left out for an API version that nothing declares, what the chart asked the cluster for and nobody could say, schemas
// that were not asked. It may render again, so it is for those whom somebody looks at.
func (r *Rendering) Notes(ctx context.Context) []source.Error {
	if r == nil || r.notes == nil {
		return nil
	}
	return r.notes(ctx)
}

// noted has a rendering say what there is to note.
func (s *release) noted(out *Rendering) {
	if o := s.output; len(o.Absent)+len(o.Lookups)+len(o.Unvalidated) > 0 {
		out.notes = s.notes
	}
}

func (s *release) notes(ctx context.Context) (list []source.Error) {
	at := s.spec.Chart.Where
	add := func(format string, args ...any) {
		list = append(list, source.Error{Path: at.Path, Line: at.Line, Column: at.Column,
			Message: fmt.Sprintf(format, args...)})
	}
	for _, left := range s.leftOut(ctx) {
		name := s.renderer.clustersOf(s.root)[0].Name
		if name == "" {
			name = "NAME"
		}
		add("the chart leaves out %s, because nothing here says that the cluster has %s: where it has, list that under "+
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
		add("the chart asks the cluster for %s (lookup), which nothing in this repository declares: it is checked as if "+
			"that were not there", several(missing))
	}
	if len(lists) > 0 {
		add("the chart asks the cluster for %s (lookup): it is checked with those that this repository declares",
			several(lists))
	}
	for _, chart := range s.output.Unvalidated {
		add("the values were not held against the schema of the chart %s: it refers to other places, and nothing is "+
			"fetched for that", chart)
	}
	return list
}

// lookedUp names what a chart asked for.
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

// fewNames is how many names a message has.
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

// left is what a chart does not print because an API version is not there.
type left struct {
	version string
	objects []string // "ServiceMonitor app"
}

// maxGranted is how many API versions are tried one by one.
const maxGranted = 8

// leftOut finds out what a chart prints more where the API versions that it asked for in vain are there.
func (s *release) leftOut(ctx context.Context) (list []left) {
	absent := s.output.Absent
	if len(absent) == 0 {
		return nil
	}
	own := printedObjects(s.output)
	more := func(versions ...string) (objects []string) {
		options := s.options
		options.APIVersions = slices.Concat(options.APIVersions, versions)
		out, err := s.chart.Render(ctx, options)
		if err != nil {
			return nil
		}
		for _, name := range printedObjects(out) {
			if !slices.Contains(own, name) && !slices.Contains(objects, name) {
				objects = append(objects, name)
			}
		}
		return objects
	}
	all := more(absent...)
	if len(all) == 0 {
		return nil
	}
	if len(absent) > 1 && len(absent) <= maxGranted {
		rest := slices.Clone(all)
		for _, version := range absent {
			objects := more(version)
			for _, name := range objects {
				rest = slices.DeleteFunc(rest, func(one string) bool { return one == name })
			}
			if len(objects) > 0 {
				list = append(list, left{version, objects})
			}
		}
		if all = rest; len(all) == 0 {
			return list
		}
	}
	return append(list, left{several(absent), all})
}

// printedObjects names the objects that a chart printed, in their order.
func printedObjects(out *helm.Output) (names []string) {
	for _, m := range out.Manifests {
		documents, err := source.Parse(m.Template, []byte(m.Text), source.Limits{})
		if err != nil {
			continue
		}
		for _, d := range documents {
			for _, n := range source.Unlist(d) {
				_, meta := source.Field(n, "metadata")
				if kind := source.Text(n, "kind"); kind != "" {
					names = append(names, kind+" "+source.Text(meta, "name"))
				}
			}
		}
	}
	return names
}
