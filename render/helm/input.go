package helm

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/semver/v3"
	chartapi "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// Template is one template of a chart or of its subcharts.
type Template struct {
	Name    string // the engine's name: "chart/charts/sub/templates/x.yaml"
	Text    string
	Partial bool // only included by others, and not executed by itself
	// Base is Template.BasePath; Name is Template.Name. The caller sets both in Dot before it executes the template.
	Base string
	// Dot is the data of the template. Templates of one chart share it, and see each other's changes.
	Dot map[string]any
}

// Input is the input of the engine. It is for one run, because templates may change their values.
type Input struct {
	// Chart is the chart after its dependencies were processed: disabled ones are removed, and aliases are names.
	Chart *chart.Chart
	// Top is the result of ToRenderValues: Chart, Capabilities, Release, Values.
	Top common.Values
	// Templates are all templates in the order in which the engine parses and executes them.
	Templates []Template
	// Funcs are all functions of templates except include and tpl, which the caller adds. They are Helm's, but
	// functions that are random, need limits or ask the cluster are replaced. They have state (numbers of calls), so
	// they are for one run.
	Funcs template.FuncMap

	run     *run
	sets    *sets
	sources map[string]origin
	crds    map[*byte]origin
	skipped []string
}

// Begin sets the template that is executed next, on which the results of frozen functions depend.
func (in *Input) Begin(template string) { in.run.template = template }

// Source returns the file of a template with the engine's name, and the chart that was loaded with that file: the chart
// that With was called on, or a dependency. The chart is nil for a file in a packed subchart.
func (in *Input) Source(template string) (*Chart, string) {
	o := in.sources[template]
	return o.owner, o.file
}

// Trees returns the parse trees of the templates and of those that they define, by name. A tree's ParseName is the
// template that contains it. In the trees, the action template is a call of include. They are shared: do not change
// them. The error is an *Error.
func (in *Input) Trees() (map[string]*parse.Tree, error) {
	set, err := in.sets.parsed(in)
	if err != nil {
		return nil, err
	}
	trees := map[string]*parse.Tree{}
	for _, t := range set.Templates() {
		if t.Tree != nil {
			trees[t.Name()] = t.Tree
		}
	}
	return trees, nil
}

// ParseValues parses values like Helm: numbers are float64, and several documents are merged.
func ParseValues(data []byte) (map[string]any, error) {
	return loader.LoadValues(bytes.NewReader(data))
}

// Input prepares a render like Render, for callers that execute the templates themselves. The error is an *Error.
func (c *Chart) Input(o Options) (*Input, error) {
	return guarded(func() (*Input, error) { return c.input(o, newRun(o)) })
}

func (c *Chart) input(o Options, r *run) (*Input, error) {
	if err := c.installable(); err != nil {
		return nil, err
	}
	if o.Name != "" && chartutil.ValidateReleaseName(o.Name) != nil {
		return nil, &Error{Cause: CauseInvalid, Message: "is installed under a name that Helm refuses: a release is named with lower case " +
			"letters, digits, - and ., at most 53"}
	}
	if !shallow(o.Values, maxValuesDepth) {
		return nil, tooMuch("has values that are nested too deeply")
	}
	processed := clone(c.chart)
	if err := chartutil.ProcessDependencies(processed, o.Values); err != nil {
		return nil, mismatch(err)
	}
	caps, err := capabilities(o)
	if err != nil {
		return nil, err
	}
	revision := 1
	if o.Upgrade {
		revision = 2
	}
	top, err := util.ToRenderValuesWithSchemaValidation(processed, o.Values, common.ReleaseOptions{
		Name: o.Name, Namespace: cmp.Or(o.Namespace, "default"), Revision: revision, IsInstall: !o.Upgrade, IsUpgrade: o.Upgrade,
	}, caps, true)
	if err != nil {
		return nil, mismatch(err)
	}
	in := &Input{Chart: processed, Top: top, run: r, sets: c.sets, sources: map[string]origin{}, crds: c.sources}
	if !o.SkipSchema {
		if in.skipped, err = c.schemas.validate(processed, top["Values"].(common.Values)); err != nil {
			return nil, err
		}
	}
	if required := processed.Metadata.KubeVersion; required != "" && !chartutil.IsCompatibleRange(required, caps.KubeVersion.String()) {
		if _, err := semver.NewConstraint(required); err != nil {
			return nil, c.wrong(CauseInvalid, "kubeVersion", "has a kubeVersion that is no range of versions")
		}
		return nil, c.wrong(CauseVersion, "kubeVersion", "requires Kubernetes "+required+" and is rendered for "+caps.KubeVersion.Version)
	}
	r.versions = spare(caps.APIVersions)
	top["Capabilities"] = &seen{KubeVersion: caps.KubeVersion, APIVersions: r.versions, HelmVersion: caps.HelmVersion}
	in.Funcs = r.funcs()
	return in, c.templates(in)
}

func (c *Chart) installable() error {
	if v := c.chart.Metadata.APIVersion; v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		return c.wrong(CauseInvalid, "apiVersion", "has an apiVersion that Helm does not install: write v2")
	}
	if c.chart.Metadata.Type == "library" {
		return c.wrong(CauseLibrary, "type", "is a library chart, which cannot be installed")
	}
	if missing := c.Missing(); len(missing) > 0 {
		e := &Error{Cause: CauseMissing, File: missing[0].File, Line: missing[0].Line}
		for _, d := range missing {
			e.Names = append(e.Names, d.Key())
		}
		e.Message = "declares dependencies that are not there: " + strings.Join(e.Names, ", ")
		return e
	}
	return nil
}

// mismatch is the error for values that do not fit the charts. Helm's message may quote values, so it is not used.
func mismatch(error) error {
	return &Error{Cause: CauseValues, Message: "cannot merge the values: the key of a subchart holds something other " +
		"than a map"}
}

// templates collects the templates and their data. The data come from Helm's engine, which runs a copy of the chart in
// which the only template of each chart passes its data on.
func (c *Chart) templates(in *Input) error {
	dots := map[string]map[string]any{}
	e := engine.Engine{CustomTemplateFuncs: template.FuncMap{"hand": func(dot map[string]any) string {
		name := dot["Template"].(common.Values)["Name"].(string)
		dots[strings.TrimSuffix(name, "/out")] = dot
		return ""
	}}}
	if _, err := e.RenderWithContext(context.Background(), probe(in.Chart), in.Top); err != nil {
		return &Error{Cause: CauseTemplate, Message: "Helm's engine rejects this chart"}
	}
	byName := map[string]Template{}
	in.collect(c, in.Chart, dots, byName)
	in.Templates = slices.SortedFunc(maps.Values(byName), func(a, b Template) int {
		return cmp.Or(-cmp.Compare(strings.Count(a.Name, "/"), strings.Count(b.Name, "/")), -cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// probe returns a copy of a chart in which each chart has only one template.
func probe(c *chart.Chart) *chart.Chart {
	out := *c
	out.Templates = []*common.File{{Name: "out", Data: []byte("{{hand .}}")}}
	dependencies := make([]*chart.Chart, 0, len(c.Dependencies()))
	for _, d := range c.Dependencies() {
		dependencies = append(dependencies, probe(d))
	}
	out.SetDependencies(dependencies...)
	return &out
}

func (in *Input) collect(c *Chart, of *chart.Chart, dots map[string]map[string]any, into map[string]Template) {
	for _, d := range of.Dependencies() {
		in.collect(c, d, dots, into)
	}
	accessor, err := chartapi.NewAccessor(of)
	if err != nil {
		return
	}
	full := of.ChartFullPath()
	for _, t := range of.Templates {
		partial := strings.HasPrefix(path.Base(t.Name), "_")
		if accessor.IsLibraryChart() && !partial {
			continue
		}
		name := path.Join(full, t.Name)
		into[name] = Template{Name: name, Text: string(t.Data), Partial: partial, Base: path.Join(full, "templates"),
			Dot: dots[full]}
		if len(t.Data) > 0 {
			in.sources[name] = c.sources[&t.Data[0]]
		}
	}
}

// maxValuesDepth is the maximum nesting of values.
const maxValuesDepth = 200

// shallow reports whether values are nested at most depth levels.
func shallow(v any, depth int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if depth == 0 || !shallow(e, depth-1) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if depth == 0 || !shallow(e, depth-1) {
				return false
			}
		}
	}
	return true
}

// What Helm 4.3.1 has in .Capabilities.HelmVersion, regardless of how this program was built.
const (
	helmVersion       = "v4.3.1"
	helmGoVersion     = "go1.26.0"
	helmKubeClient    = "v1.37"
	DefaultKubernetes = "v1.37.0" // DefaultKubernetes is the version that Helm 4.3.1 assumes without a cluster.
)

func capabilities(o Options) (*common.Capabilities, error) {
	version, err := common.ParseKubeVersion(cmp.Or(o.Kubernetes, DefaultKubernetes))
	if err != nil {
		return nil, &Error{Cause: CauseVersion, Message: "is rendered for an invalid version of Kubernetes"}
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	caps.APIVersions = append(slices.Clone(caps.APIVersions), o.APIVersions...)
	caps.HelmVersion.Version = helmVersion
	caps.HelmVersion.GitCommit, caps.HelmVersion.GitTreeState = "", "clean"
	caps.HelmVersion.GoVersion = helmGoVersion
	caps.HelmVersion.KubeClientVersion = helmKubeClient
	return caps, nil
}
