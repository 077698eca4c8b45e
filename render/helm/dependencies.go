package helm

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/lintel-bot/lintel/render/doc"
)

// Dependencies returns what a chart declares. The list is shared: do not change it.
func (c *Chart) Dependencies() []Dependency {
	c.declared.once.Do(func() { c.declared.list = c.dependencies() })
	return c.declared.list
}

// declarations are the dependencies of a chart. Their lines take reading Chart.yaml again, so they are found once.
type declarations struct {
	once sync.Once
	list []Dependency
}

func (c *Chart) dependencies() []Dependency {
	file := "Chart.yaml"
	if c.chart.Metadata.APIVersion == chart.APIVersionV1 && c.files["requirements.yaml"] != nil {
		file = "requirements.yaml"
	}
	lines := dependencyLines(file, c.files[file])
	var list []Dependency
	for i, d := range c.chart.Metadata.Dependencies {
		one := Dependency{Name: d.Name, Alias: d.Alias, Version: d.Version, Repository: d.Repository,
			Condition: d.Condition, Tags: slices.Clone(d.Tags), File: file, LockedVersion: c.locked(d)}
		if i < len(lines) {
			one.Line = lines[i]
		}
		list = append(list, one)
	}
	return list
}

// Missing returns what a chart declares and does not have in charts/. Helm refuses to render such a chart, whether or
// not a condition turns the dependency off. Subcharts are not asked what they lack, as Helm does not either.
func (c *Chart) Missing() []Dependency {
	there := map[string]bool{}
	for _, d := range c.chart.Dependencies() {
		there[d.Name()] = true
	}
	return slices.DeleteFunc(slices.Clone(c.Dependencies()), func(d Dependency) bool { return there[d.Name] })
}

// With returns a chart that has more dependencies, by their keys (alias, or else name), as if they were vendored; for the
// same ones the same chart, so that its templates are parsed once. An error is an *Error: a key that is not declared, a
// chart of another name or of a version that is not asked for.
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

// joins are the charts that With made of one, the oldest first.
type joins struct {
	mu   sync.Mutex
	kept []joined
}

type joined struct {
	deps  map[string]*Chart
	chart *Chart
}

// Charts that With made of one chart which are kept: both sides of a change, and a few more.
const keptJoined = 4

func (c *Chart) with(deps map[string]*Chart) (*Chart, error) {
	declared := map[string]Dependency{}
	for _, d := range c.Dependencies() {
		declared[d.Key()] = d
	}
	out := &Chart{chart: clone(c.chart), limits: c.limits, files: c.files, sources: maps.Clone(c.sources), sets: newSets(),
		schemas: newSchemas()}
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
			// Helm would take it for a chart that nobody declared: never off, without its alias.
			message := fmt.Sprintf("needs version %s of the dependency %q, but found version %s", dep.Version, key,
				more.Version())
			if dep.LockedVersion == more.Version() {
				message += ", the version in Chart.lock: Chart.yaml and Chart.lock are out of sync"
			}
			return nil, &Error{Cause: CauseInvalid, File: dep.File, Line: dep.Line, Message: message}
		case have[more.Name()+"\x00"+more.Version()]:
			continue // two aliases of one chart: Helm copies it for each
		}
		have[more.Name()+"\x00"+more.Version()] = true
		out.chart.AddDependency(clone(more.chart))
		maps.Copy(out.sources, more.sources)
	}
	return out, nil
}

// outOfRange reports whether a version is certainly not one of those that a dependency asks for. One before a release is
// not certain: who locks it gets it.
func outOfRange(asked, version string) bool {
	constraint, err := semver.NewConstraint(asked)
	if asked == "" || err != nil {
		return false
	}
	constraint.IncludePrerelease = true
	v, err := semver.NewVersion(version)
	return err == nil && !constraint.Check(v)
}

// locked returns the version that the lock has for a dependency.
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
	if err != nil || len(documents) == 0 || documents[0].Kind != yaml.MappingNode {
		return nil
	}
	var lines []int
	for i := 0; i+1 < len(documents[0].Content); i += 2 {
		if documents[0].Content[i].Value != "dependencies" {
			continue
		}
		for _, entry := range documents[0].Content[i+1].Content {
			lines = append(lines, entry.Line)
		}
	}
	return lines
}

// clone copies of a chart what Helm changes while it processes dependencies. Values, files and schemas are shared: Helm
// copies values before it changes them.
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
