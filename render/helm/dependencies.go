package helm

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/Masterminds/semver/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/lintel-bot/lintel/render/doc"
)

// Dependencies returns the dependencies that a chart declares. The list is shared: do not change it.
func (c *Chart) Dependencies() []Dependency { return c.declared() }

func (c *Chart) dependencies() []Dependency {
	file := "Chart.yaml"
	if c.chart.Metadata.APIVersion == chart.APIVersionV1 && c.files["requirements.yaml"] != nil {
		file = "requirements.yaml"
	}
	lines := dependencyLines(file, c.files[file])
	var list []Dependency
	for i, d := range c.chart.Metadata.Dependencies {
		one := Dependency{Name: d.Name, Alias: d.Alias, Version: d.Version, Repository: d.Repository, File: file,
			LockedVersion: c.locked(d)}
		if i < len(lines) {
			one.Line = lines[i]
		}
		list = append(list, one)
	}
	return list
}

// Missing returns the declared dependencies that are not in charts/. Helm refuses to render such a chart, even if a
// condition turns the dependency off. Subcharts are not checked, as in Helm.
func (c *Chart) Missing() []Dependency {
	there := map[string]bool{}
	for _, d := range c.chart.Dependencies() {
		there[d.Name()] = true
	}
	return slices.DeleteFunc(slices.Clone(c.Dependencies()), func(d Dependency) bool { return there[d.Name] })
}

// With returns a chart with more dependencies, by their keys (alias, or else name), as if they were vendored. For the
// same dependencies it returns the same chart, so that its templates are parsed once. It fails with an *Error if a key
// is not declared, or if a chart has another name or a version out of the requested range.
func (c *Chart) With(deps map[string]*Chart) (*Chart, error) {
	c.joined.mu.Lock()
	defer c.joined.mu.Unlock()
	for _, known := range c.joined.kept {
		if maps.Equal(known.deps, deps) {
			return known.chart, nil
		}
	}
	out, err := c.with(deps)
	if err == nil {
		if len(c.joined.kept) == keptJoined {
			c.joined.kept = slices.Delete(c.joined.kept, 0, 1)
		}
		c.joined.kept = append(c.joined.kept, joined{maps.Clone(deps), out})
	}
	return out, err
}

// joins caches results of With, the oldest first.
type joins struct {
	mu   sync.Mutex
	kept []joined
}

type joined struct {
	deps  map[string]*Chart
	chart *Chart
}

// keptJoined is how many results of With are cached for one chart: those of base and head, and a few more.
const keptJoined = 4

func (c *Chart) with(deps map[string]*Chart) (*Chart, error) {
	declared := map[string]Dependency{}
	for _, d := range c.Dependencies() {
		declared[d.Key()] = d
	}
	out := newChart(clone(c.chart), c.limits, c.files, maps.Clone(c.sources))
	have := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(deps)) {
		dep, ok := declared[key]
		more := deps[key]
		switch {
		case !ok:
			return nil, &Error{Cause: CauseInvalid, Message: fmt.Sprintf("declares no dependency %q", key)}
		case more.Name() != dep.Name:
			return nil, &Error{Cause: CauseInvalid, File: dep.File, Line: dep.Line, Message: fmt.Sprintf(
				"needs the dependency %q, but its repository has a chart with another name", dep.Name)}
		case outOfRange(dep.Version, more.Version()):
			// Helm would treat it as an undeclared chart: without its alias, and always enabled.
			message := fmt.Sprintf("needs version %s of the dependency %q, but found version %s", dep.Version, key,
				more.Version())
			if dep.LockedVersion == more.Version() {
				message += ", the version in Chart.lock: Chart.yaml and Chart.lock are out of sync"
			}
			return nil, &Error{Cause: CauseInvalid, File: dep.File, Line: dep.Line, Message: message}
		case have[more.Name()+"\x00"+more.Version()]:
			continue // Helm copies the chart for each of its aliases
		}
		have[more.Name()+"\x00"+more.Version()] = true
		out.chart.AddDependency(clone(more.chart))
		maps.Copy(out.sources, more.sources)
	}
	return out, nil
}

// outOfRange reports whether a version is certainly not in the range that a dependency requests. A prerelease may be,
// because it can be locked.
func outOfRange(asked, version string) bool {
	constraint, err := semver.NewConstraint(asked)
	if asked == "" || err != nil {
		return false
	}
	constraint.IncludePrerelease = true
	v, err := semver.NewVersion(version)
	return err == nil && !constraint.Check(v)
}

// locked returns the version of a dependency in the lock file.
func (c *Chart) locked(d *chart.Dependency) string {
	if c.chart.Lock == nil {
		return ""
	}
	version := ""
	for _, l := range c.chart.Lock.Dependencies {
		if l == nil || l.Name != d.Name {
			continue
		}
		if d.Version == "" || chartutil.IsCompatibleRange(d.Version, l.Version) {
			return l.Version
		}
		version = l.Version
	}
	return version
}

func dependencyLines(file string, data []byte) []int {
	documents, err := doc.Parse(file, data, doc.Limits{})
	if err != nil || len(documents) == 0 {
		return nil
	}
	var lines []int
	for _, entry := range doc.Items(documents[0], "dependencies") {
		lines = append(lines, entry.Line)
	}
	return lines
}

// clone copies the parts of a chart that Helm changes while it processes dependencies. Values, files and schemas are
// shared: Helm copies values before it changes them.
func clone(c *chart.Chart) *chart.Chart {
	out, metadata := *c, *c.Metadata
	metadata.Dependencies = slices.Clone(metadata.Dependencies)
	for i, d := range metadata.Dependencies {
		if d != nil {
			copied := *d
			copied.ImportValues = slices.Clone(copied.ImportValues)
			metadata.Dependencies[i] = &copied
		}
	}
	out.Metadata = &metadata
	dependencies := make([]*chart.Chart, 0, len(c.Dependencies()))
	for _, d := range c.Dependencies() {
		dependencies = append(dependencies, clone(d))
	}
	out.SetDependencies(dependencies...)
	return &out
}
