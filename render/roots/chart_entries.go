package roots

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/tree"
)

// ChartEntry says how charts of the repository are deployed by somebody whom the repository does not have: each is a
// release of its own, in place of the chart with its own values.
type ChartEntry struct {
	Path      string // glob over the folders of charts
	Values    []string
	Name      string // of the release; default: the folder's
	Namespace string
	File      string // where it is written; likewise Line
	Line      int
}

// chartEntry is the kind of what stands for an object of Argo CD where there is none.
const chartEntry = "Chart"

// enter adds the charts of some entries as Argo CD would deploy them. Of a pattern, charts count that have the files of
// values.
func (d *deployments) enter(entries []ChartEntry) {
	for _, e := range entries {
		pattern := strings.ContainsAny(e.Path, "*?")
		Walk(d.set.Tree(), e.Path, func(dir string, _ tree.Entry) bool {
			if d.set.hasChart(dir) && !(pattern && d.lacks(dir, e.Values)) {
				d.enterOne(e, dir, entries)
			}
			return false
		})
	}
}

// lacks reports whether a chart has not all of some files of values.
func (d *deployments) lacks(dir string, values []string) bool {
	return slices.ContainsFunc(values, func(name string) bool {
		p := path.Join(dir, name)
		if inside, top := strings.CutPrefix(name, "/"); top {
			p = inside
		}
		return !strings.ContainsAny(name, "*?[:") && !d.set.isFile(p)
	})
}

func (d *deployments) enterOne(e ChartEntry, dir string, all []ChartEntry) {
	name := cmp.Or(e.Name, chartName(dir))
	values := make([]any, len(e.Values))
	for i, v := range e.Values {
		values[i] = v
	}
	app := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{"destination": map[string]any{"namespace": e.Namespace},
			"source": map[string]any{"path": dir, "helm": map[string]any{"valueFiles": values}}}}
	at := gitops.Position{Path: e.File, Line: e.Line}
	objects := []gitops.Object{gitops.FromRoot("", app, func(int) gitops.Position { return at })}
	found, _ := gitops.Deployments(objects, gitops.Options{Tree: d.set.Tree(), Repo: d.repo, Limits: d.limits,
		Releases: true})
	for _, one := range found {
		one.Object, one.Name = gitops.Reference{Kind: chartEntry}, e.label(dir, all)
		if d.byID[one.ID()] == nil {
			next := newDeployment(one, nil)
			d.byID[one.ID()] = next
			d.byPath[one.Path] = append(d.byPath[one.Path], next)
		}
	}
}

// label tells the entries of one chart apart: by their values, or else by the name of the release.
func (e ChartEntry) label(dir string, all []ChartEntry) string {
	values := strings.Join(e.Values, "+")
	same := 0
	for _, other := range all {
		if other.Path == e.Path && strings.Join(other.Values, "+") == values {
			same++
		}
	}
	name := cmp.Or(e.Name, chartName(dir))
	switch {
	case values == "":
		return name
	case same > 1:
		return values + "@" + name
	}
	return values
}

// chartName is the name of a release where nobody gives it one.
func chartName(dir string) string {
	if dir == "." {
		return "release"
	}
	return path.Base(dir)
}

// MatchesChart reports whether a glob matches the folder of a chart.
func (s *Set) MatchesChart(glob string) bool {
	return Walk(s.Tree(), glob, func(dir string, _ tree.Entry) bool { return s.hasChart(dir) })
}

// matchesEntry reports whether a glob matches a release of the settings, by its name.
func (s *Set) matchesEntry(glob string) bool {
	re, err := Glob(glob)
	return err == nil && slices.ContainsFunc(s.deployed.sorted(), func(one *Deployment) bool {
		return one.Object.Kind == chartEntry && re.MatchString(nameOf(one))
	})
}
