// Package helm renders Helm charts in this process: the output is byte for byte that of `helm template` of Helm 4.3.1 for
// the same input. Helm's own packages load the chart, resolve its dependencies, merge its values, make the data of each
// template, and sort the output. This package parses and executes the templates, in the few steps of Helm's engine. So they
// are parsed once for many renders, and templates that include themselves without end can be stopped.
//
// The differences are listed in Output, or are frozen: functions that are random or read the clock return fixed results that
// depend only on the release, the template, the call and its arguments. So two renders of the same input are equal.
// lookup calls a function of the caller instead of a cluster. Nothing is fetched, and no program is run.
//
// A chart is untrusted input. Its size, nesting and output are limited, and a panic is an error. If a render exceeds its time
// limit or its context ends, Render returns and the goroutine continues until its next output or call of a bounded
// function. A loop without either never ends. A mapping that contains itself and is printed by an action ends the process,
// as it ends Helm. So render untrusted charts in a process that may be killed.
//
// Helm writes warnings about values to the process's log, including the values. Callers that do not want this must set the
// log's output.
package helm

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// File is a file of a chart.
type File struct {
	Name string // slash path inside the chart's folder: "Chart.yaml" is at the top
	Data []byte
}

// Limits limit the cost of a chart. The zero value means the defaults, which are far above what real charts need.
type Limits struct {
	Files  int           // including those of packed subcharts; default 10,000
	Bytes  int64         // of all files, unpacked; default 100 MiB
	Depth  int           // of nested subcharts; default 16
	Output int           // bytes that one render prints, and that one call of a function makes; default 64 MiB
	Time   time.Duration // of one render; default 30 s
}

func (l Limits) withDefaults() Limits {
	l.Files = cmp.Or(max(0, l.Files), 10_000)
	l.Bytes = cmp.Or(max(0, l.Bytes), 100<<20)
	l.Depth = cmp.Or(max(0, l.Depth), 16)
	l.Output = cmp.Or(max(0, l.Output), 64<<20)
	l.Time = cmp.Or(max(0, l.Time), 30*time.Second)
	return l
}

// Chart is a loaded chart. It never changes and is safe for concurrent use: load once, render often.
type Chart struct {
	chart   *chart.Chart
	limits  Limits
	files   map[string][]byte
	sources map[*byte]origin // by the first byte of a file; files of packed subcharts are not in it
	sets    *sets
	schemas schemas
	joined  joins

	declared func() []Dependency // see Dependencies
}

func newChart(c *chart.Chart, l Limits, files map[string][]byte, sources map[*byte]origin) *Chart {
	out := &Chart{chart: c, limits: l, files: files, sources: sources, sets: &sets{kept: map[string]parsed{}}}
	out.declared = sync.OnceValue(out.dependencies) // Chart.yaml is parsed again to find their lines
	return out
}

// origin is the file of a template.
type origin struct {
	owner *Chart
	file  string
}

// Dependency is a dependency that a chart declares.
type Dependency struct {
	Name          string
	Alias         string // another name for the dependency in this chart
	Version       string // the requested range of versions
	LockedVersion string // the version in Chart.lock (requirements.lock), if any
	Repository    string // as written: https, oci, file, "@name", "alias:name" or empty
	File          string // Chart.yaml or requirements.yaml
	Line          int
}

// Key returns the name of a dependency in values and for Chart.With: its alias, or else its name.
func (d Dependency) Key() string { return cmp.Or(d.Alias, d.Name) }

// Name returns the name in Chart.yaml.
func (c *Chart) Name() string { return c.chart.Metadata.Name }

// Version returns the version in Chart.yaml.
func (c *Chart) Version() string { return c.chart.Metadata.Version }

// CRDs returns the files in crds/ that a release with the given values installs, including those of enabled subcharts.
// If the values do not fit the chart, which Render reports, it returns all such files.
func (c *Chart) CRDs(values map[string]any) (list []File) {
	installed := c.chart.CRDObjects()
	if len(installed) > 0 && len(c.chart.Dependencies()) > 0 && shallow(values, maxValuesDepth) {
		enabled, err := guarded(func() ([]chart.CRD, error) {
			processed := clone(c.chart)
			err := chartutil.ProcessDependencies(processed, values)
			return processed.CRDObjects(), err
		})
		if err == nil {
			installed = enabled
		}
	}
	for _, crd := range installed {
		list = append(list, File{Name: crd.Filename, Data: crd.File.Data})
	}
	return list
}

// Defaults returns the default values of a chart. Those of its subcharts are below their keys, even if a condition
// turns them off. Do not change the result.
func (c *Chart) Defaults() map[string]any { return defaults(c.chart) }

func defaults(c *chart.Chart) map[string]any {
	out := maps.Clone(c.Values)
	if out == nil {
		out = map[string]any{}
	}
	for _, sub := range c.Dependencies() {
		keys := []string{}
		for _, d := range c.Metadata.Dependencies {
			if d.Name == sub.Name() {
				keys = append(keys, cmp.Or(d.Alias, d.Name))
			}
		}
		if len(keys) == 0 {
			keys = append(keys, sub.Name())
		}
		for _, key := range keys {
			own, _ := out[key].(map[string]any)
			out[key] = loader.MergeMaps(defaults(sub), own)
		}
	}
	return out
}

// Schema returns the text of a chart's values.schema.json, nil where it has none.
func (c *Chart) Schema() []byte { return c.chart.Schema }

// Contains reports whether is returns true for any file of a chart or of a chart in it: templates, definitions, values
// and files that templates may read. Documentation is left out.
func (c *Chart) Contains(is func(text []byte) bool) bool {
	return anyFile(c.chart, func(c *chart.Chart) []*common.File { return c.Raw }, func(f *common.File) bool {
		// Files in charts/ belong to other charts, which may be packed.
		return !strings.HasPrefix(f.Name, "charts/") && path.Ext(f.Name) != ".md" && is(f.Data)
	})
}

// AnyTemplate reports whether is returns true for a template of a chart, or of a dependency.
func (c *Chart) AnyTemplate(is func(text []byte) bool) bool {
	return anyFile(c.chart, func(c *chart.Chart) []*common.File { return c.Templates },
		func(f *common.File) bool { return is(f.Data) })
}

// anyFile reports whether is returns true for one of the files of a chart, or of a dependency.
func anyFile(c *chart.Chart, files func(*chart.Chart) []*common.File, is func(*common.File) bool) bool {
	return slices.ContainsFunc(files(c), is) ||
		slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return anyFile(d, files, is) })
}

// Mentions reports whether a template of a chart, or of a dependency, contains a word. If values is set, other files
// count, too, except documentation.
func (c *Chart) Mentions(word string, values bool) bool {
	is := func(text []byte) bool { return HasWord(text, word, true) }
	return c.AnyTemplate(is) || values && c.Contains(is)
}

// HasWord reports whether a text has a word that is no part of a longer one. Without fields, one after a dot does not count.
func HasWord(text []byte, word string, fields bool) bool {
	part := func(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	for found := true; found; {
		var before []byte
		before, text, found = bytes.Cut(text, []byte(word))
		last, _ := utf8.DecodeLastRune(before)
		next, _ := utf8.DecodeRune(text)
		if found && !part(last) && !part(next) && (fields || last != '.') {
			return true
		}
	}
	return false
}

// UsesWhole reports whether a template of a chart, or of a dependency, may use a map of a given name as a whole. Then
// its text does not show which keys are read. This is so if the name has no field after it, or is in a text.
func (c *Chart) UsesWhole(name string) bool {
	quoted := regexp.QuoteMeta(name)
	return c.AnyTemplate(regexp.MustCompile(`\.` + quoted + `(?:[^.A-Za-z0-9_]|\.[^A-Za-z_]|$)|["` + "`" + `]` + quoted + `["` + "`" + `]`).Match)
}
