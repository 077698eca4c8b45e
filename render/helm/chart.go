package helm

import (
	"cmp"
	"sync"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"
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
	schemas *schemas
	joined  joins

	declared func() []Dependency // see Dependencies
}

func newChart(c *chart.Chart, l Limits, files map[string][]byte, sources map[*byte]origin) *Chart {
	out := &Chart{chart: c, limits: l, files: files, sources: sources, sets: &sets{kept: map[string]parsed{}},
		schemas: &schemas{kept: map[*byte]*schema{}}}
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
