package checks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// changedCharts reports the changed charts that no root renders. It also reports changed files of rendered charts with
// which no root renders them: values of another environment, and files that templates read only with such values.
func (p *pairs) changedCharts(ctx context.Context) error {
	t := p.sides.Trees
	aside := map[string][]string{}
	for _, d := range t.Differences {
		chart := t.Head.Roots.Chart(d.Path)
		for outer := t.Head.Roots.ChartAround(chart); outer != "" && !p.rendersChart(chart, d.Path); {
			chart, outer = outer, t.Head.Roots.ChartAround(outer)
		}
		switch {
		case chart == "":
		case !p.rendersChart(chart, d.Path):
			if _, told := aside[chart]; d.New != nil && !told {
				aside[chart] = nil
				p.charts++
				p.not(chart, d.Path, "this Helm chart changes, and no object in this repository deploys it"+declare)
			}
		case !ownFile(chart, d.Path) && !forPeople(chart, d.Path) && !p.reading(d.Path):
			aside[chart] = append(aside[chart], d.Path)
		}
	}
	for _, chart := range slices.Sorted(maps.Keys(aside)) {
		files, err := p.unshown(ctx, chart, aside[chart])
		if err != nil {
			return err
		}
		p.tellUnshown(chart, files)
	}
	return nil
}

// tellUnshown reports the files of a chart with which no root renders it.
func (p *pairs) tellUnshown(chart string, files []string) {
	const most = 5
	if len(files) == 0 {
		return
	}
	words := "no object in this repository deploys the chart with this values file"
	if rest := files[1:]; len(rest) > 0 {
		words += ", nor with " + strings.Join(rest[:min(len(rest), most)], ", ")
		if more := len(rest) - most; more > 0 {
			words += fmt.Sprintf(" and %s more", report.Count(more, "file", "files"))
		}
	}
	p.not(chart, files[0], words+declare)
}

// declare is what to do about a chart that is deployed from elsewhere.
const declare = ": name its release under charts in .lintel.yaml"

// rendersChart reports whether a checked root renders the chart of a folder, or reads the changed file.
func (p *pairs) rendersChart(chart, file string) bool {
	return p.reading(file) || slices.ContainsFunc(p.roots, func(r *diff.Root) bool { return has(r, chart) })
}

// has reports whether a root renders the chart of a folder, as the whole root or as a part of it.
func has(r *diff.Root, chart string) bool {
	_, whole := r.Reads[chart+"/"]
	return whole || r.Kind == roots.Chart && r.Path == chart
}

// reading reports whether a checked root reads a file by its name, as it reads values, or by the name of a symlink to
// it.
func (p *pairs) reading(file string) bool {
	names := []string{file}
	for _, c := range []diff.Commit{p.sides.Trees.Base, p.sides.Trees.Head} {
		if real, _, err := c.Tree.Lookup(file); err == nil {
			names = append(names, real)
		}
	}
	return slices.ContainsFunc(p.roots, func(r *diff.Root) bool {
		return slices.ContainsFunc(names, func(name string) bool { return p.names(r, name) })
	})
}

// names reports whether a root reads a file by its name. Files that a release reads only because they are in the
// chart's folder, also through symlinks, do not count.
func (p *pairs) names(r *diff.Root, file string) bool {
	if r.Kind == roots.Chart && r.Object == "" {
		return false
	}
	t, released := p.sides.Trees, false
	for _, c := range []diff.Commit{t.Base, t.Head} {
		one := c.Roots.Deployment(r.Root)
		if one == nil || one.Release == nil {
			continue
		}
		released = true
		if slices.ContainsFunc(one.Release.Reads, func(name string) bool {
			real, _, err := c.Tree.Lookup(name)
			return name == file || err == nil && real == file
		}) {
			return true
		}
	}
	_, ok := r.Reads[file]
	return ok && !released
}

// unshown returns those of a chart's changed files whose change has no effect on any checked root. They may be values
// files, or files that templates read.
func (p *pairs) unshown(ctx context.Context, chart string, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	before := map[string][]byte{}
	for _, file := range files {
		data, err := contents(p.sides.Trees.Base.Tree, file)
		if err != nil {
			return nil, err
		}
		before[file] = data
	}
	readable := false
	for _, r := range p.roots {
		if !has(r, chart) {
			continue
		}
		c := p.sides.Head.Charted(r.Root)
		switch {
		case c == nil && (r.Kind == roots.Kustomization || r.Kind == roots.FluxKustomization):
			return nil, nil // it renders the chart
		case c == nil, !c.ReadsFiles(): // the root reports why a chart cannot be loaded
			continue
		}
		readable = true
		left := map[string][]byte{}
		for _, file := range c.Unshown(ctx, before) {
			left[file] = before[file]
		}
		before = left
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(file string) bool {
		return !readable && !p.mayBeValues(file)
	}), ctx.Err()
}

// contents returns the content of a file; nil if there is none, or if it is too large.
func contents(t *tree.Tree, file string) ([]byte, error) {
	data, _, err := t.ReadFile(file)
	if errors.Is(err, tree.ErrNotExist) || errors.As(err, new(*tree.TooLargeError)) {
		return nil, nil
	}
	return append([]byte{}, data...), err
}

// mayBeValues reports whether a file may be a values file of Helm: one with a map that is no Kubernetes object.
func (p *pairs) mayBeValues(file string) bool {
	t := p.sides.Trees
	data, err := contents(t.Head.Tree, file)
	if data == nil {
		data, err = contents(t.Base.Tree, file)
	}
	switch {
	case !graph.IsManifestName(file):
		return false
	case err != nil:
		return true
	}
	documents, err := doc.Parse(file, data, doc.Limits{})
	return err != nil || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		return d.Kind == yaml.MappingNode && doc.Text(d, "kind") == ""
	})
}

// ownFile reports whether a file of a chart is one that Helm reads with any values.
func ownFile(chart, file string) bool {
	top, _, below := strings.Cut(strings.TrimPrefix(file, chart+"/"), "/")
	switch top {
	case "templates", "crds", "charts":
		return below
	case "Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json", "requirements.yaml", "requirements.lock":
		return !below
	}
	return false
}

// forPeople reports whether a file's name says that it is for the chart's authors, readers or tests.
func forPeople(chart, file string) bool {
	dir, base := path.Split(strings.TrimPrefix(file, chart+"/"))
	stem, _, _ := strings.Cut(base, ".")
	return strings.HasPrefix(base, ".") || slices.Contains(suffixesForPeople, path.Ext(base)) ||
		slices.Contains(namesForPeople, strings.ToUpper(stem)) ||
		slices.ContainsFunc(strings.Split(dir, "/"), func(f string) bool { return slices.Contains(foldersForPeople, f) })
}

var (
	foldersForPeople  = []string{"ci", "test", "tests", "docs", "examples"} // ci: test values of chart-testing
	suffixesForPeople = []string{".md", ".gotmpl", ".png", ".svg", ".adoc", ".rst"}
	namesForPeople    = []string{"README", "NOTES", "LICENSE", "LICENCE", "NOTICE", "OWNERS", "CODEOWNERS", "AUTHORS", "MAINTAINERS",
		"CHANGELOG", "CONTRIBUTING", "MAKEFILE", "DOCKERFILE", "JUSTFILE", "TILTFILE", "CT", "RENOVATE", "SKAFFOLD",
		"ARTIFACTHUB-REPO", "ARTIFACTHUB-PKG"}
)
