package render

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// complete fetches the dependencies that a chart declares and does not contain, and adds them. It returns how many
// charts the result consists of.
func (c *chartReader) complete(f chartFolder, chart *helm.Chart) (*helm.Chart, int, error) {
	missing := chart.Missing()
	if len(missing) == 0 {
		return chart, 1, nil
	}
	deps, size := map[string]*helm.Chart{}, 1
	var wanted error
	for _, d := range missing {
		from, err := c.dependency(f, d)
		if err == nil {
			var one *helm.Chart
			var n int
			if one, n, err = c.load(from, nil); err == nil {
				deps[d.Key()] = one
				if size += n; size > maxCharted {
					return nil, 0, &helm.Error{Cause: helm.CauseLimit,
						Message: fmt.Sprintf("includes more than %d charts, repeated ones counted each time", maxCharted)}
				}
				continue
			}
		}
		if !errors.Is(err, remote.ErrWanted) {
			return nil, 0, f.blames(d, from, err)
		}
		wanted = err // keep going: the other dependencies are wanted, too
	}
	if wanted != nil {
		return nil, 0, wanted
	}
	out, err := chart.With(deps)
	return out, size, err
}

// blames describes what is wrong with a dependency, in terms of the chart of f. The place is the file of the dependency
// where that is in this repository, else the line that declares it.
func (f chartFolder) blames(d helm.Dependency, from chartFolder, err error) error {
	wrong, ok := errors.AsType[*helm.Error](err)
	if !ok || from.tree == nil || f.packed { // without a tree the declaration is wrong
		return err
	}
	e := *wrong
	if from.here {
		if inside, err := filepath.Rel(f.dir, from.dir); err == nil && e.File != "" {
			e.File = path.Join(filepath.ToSlash(inside), e.File)
		}
		return &e
	}
	separator := ", which "
	if strings.HasPrefix(e.Message, "the ") {
		separator = ": "
	}
	e.Message = "depends on " + d.Key() + separator + e.Message
	e.File, e.Line = d.File, d.Line
	return &e
}

// dependency returns the folder of a chart's dependency.
func (c *chartReader) dependency(f chartFolder, d helm.Dependency) (chartFolder, error) {
	refused := func(format string, args ...any) error {
		return &helm.Error{Cause: helm.CauseMissing, File: d.File, Line: d.Line, Message: fmt.Sprintf(format, args...),
			Names: []string{d.Key()}}
	}
	version := d.LockedVersion
	if version == "" {
		version = d.Version
	}
	at := c.at
	if f.here {
		at = gitops.Position{Path: path.Join(f.dir, d.File), Line: d.Line}
	}
	switch repository := d.Repository; {
	case strings.HasPrefix(repository, "file://"):
		dir, ok := tree.Clean(path.Join(f.dir, strings.TrimPrefix(repository, "file://")))
		if !ok || f.packed {
			return chartFolder{}, refused("the dependency %s is outside the repository", d.Key())
		}
		if _, _, err := f.tree.Lookup(path.Join(dir, "Chart.yaml")); err != nil {
			if errors.Is(err, tree.ErrNotExist) {
				return chartFolder{}, refused("the dependency %s was not found: %s is not a chart", d.Key(), dir)
			}
			return chartFolder{}, err
		}
		return chartFolder{tree: f.tree, dir: dir, here: f.here, from: f.from, instead: f.instead}, nil
	case strings.HasPrefix(repository, "oci://"):
		return c.fetched(remote.Want{Kind: remote.Chart, URL: strings.TrimSuffix(repository, "/") + "/" + d.Name, Ref: version},
			at)
	case strings.HasPrefix(repository, "https://"), strings.HasPrefix(repository, "http://"):
		return c.fetched(remote.Want{Kind: remote.Chart, URL: repository, Name: d.Name, Ref: version}, at)
	case repository == "":
		return chartFolder{}, refused("the dependency %s is not in charts/ and names no repository", d.Key())
	}
	return chartFolder{}, refused("the repository %.80q of the dependency %s is an alias of a local Helm "+
		"configuration: write its URL, or put the chart into charts/", d.Repository, d.Key())
}

// fetched returns the folder of a chart that was fetched.
func (c *chartReader) fetched(w remote.Want, at gitops.Position) (chartFolder, error) {
	src, err := c.builder.fetched(c.out, w, at)
	if err != nil {
		return chartFolder{}, &sourceError{w, at, err}
	}
	return chartFolder{tree: src.Tree, dir: ".", packed: true, from: src}, nil
}
