package helm

import (
	"context"
	"text/template"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"helm.sh/helm/v4/pkg/chart/common"
)

// DefaultKubernetes is the version of Kubernetes that Helm 4.3.1 assumes without a cluster.
const DefaultKubernetes = "v1.37.0"

// Options say what is rendered. The zero values are those of `helm template NAME --include-crds --skip-tests`.
type Options struct {
	Name      string         // of the release
	Namespace string         // default "default"
	Values    map[string]any // the user's, merged; they are not changed
	// Kubernetes is the version that the chart sees ("1.33", "v1.33.2"); default DefaultKubernetes.
	Kubernetes string
	// APIVersions are added to those that Helm knows (the group versions of Kubernetes): "group/version" and
	// "group/version/Kind". KubernetesKinds has the latter for Kubernetes.
	APIVersions []string
	SkipCRDs    bool // leaves out what is in crds/
	SkipHooks   bool // leaves out hooks; those of tests are never in
	SkipSchema  bool // does not ask values.schema.json
	Upgrade     bool // Release.IsUpgrade instead of IsInstall
	// Lookup answers what the chart asks the cluster for; a name of "" asks for a list. False: not known. Nil: nothing
	// is known.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, bool)
	Limits Limits // Output and Time
}

// Output is what a chart prints.
type Output struct {
	Manifests []Manifest        // in the order of `helm template`
	Files     map[string]string // what the engine printed, by the names of templates
	Lookups   []Lookup          // what lookup was asked for and Options.Lookup did not know, each once, sorted
	Absent    []string          // what Capabilities.APIVersions.Has was asked for and denied, each once, sorted
	// Frozen has the functions that are random or read the clock and were called, each once, sorted.
	Frozen []string
	// Unvalidated has the charts (full names, as in the names of templates) whose schema refers to other places and
	// was not asked, because nothing is fetched.
	Unvalidated []string
}

// Manifest is one document.
type Manifest struct {
	Template string // the engine's name of the template; of a CRD the path that Helm prints, "chart/crds/x.yaml"
	File     string // the file in the chart's folder; empty if it is in a packed or fetched subchart
	Text     string // one document, of a CRD the file as it is
	Offset   int    // of Text in Output.Files[Template]; -1 for what is in crds/
	Hook     bool
	CRD      bool
}

// Lookup is what a template asked the cluster for. Name "" is a list.
type Lookup struct{ APIVersion, Kind, Namespace, Name string }

// Input is what the engine is given, fresh: templates may change their values on the way.
type Input struct {
	// Chart is the chart after its dependencies were processed: those that are off are gone, aliases are names.
	Chart *chart.Chart
	// Top is what ToRenderValues made: Chart, Capabilities, Release, Values.
	Top common.Values
	// Funcs are the functions that replace Helm's: frozen, bounded, lookup. They hold state (numbers of calls), so one
	// Input is for one run over all templates in the engine's order. "frozenFile" must be called with the dot of each
	// template that is executed, before it.
	Funcs template.FuncMap
}

// Input prepares a render as Render does it, for those who run the templates themselves. An error is an *Error.
func (c *Chart) Input(o Options) (*Input, error) { panic("not yet") }

// Source returns the file in the chart's folder that a template is, by the engine's name for it; it is empty for one in
// a packed or fetched subchart.
func (in *Input) Source(template string) string { panic("not yet") }

// Render renders a chart. An error is an *Error, also when ctx ended.
func (c *Chart) Render(ctx context.Context, o Options) (*Output, error) { panic("not yet") }

// Text joins manifests as `helm template` prints them.
func (o *Output) Text() string { panic("not yet") }

// Load reads a chart from its files. Vendored charts in charts/ belong to it, as folders and packed; .helmignore is
// honoured as for a folder. An error is an *Error.
func Load(files []File, l Limits) (*Chart, error) { panic("not yet") }

// LoadPackage is Load for the files of a packed chart, in which .helmignore means nothing.
func LoadPackage(files []File, l Limits) (*Chart, error) { panic("not yet") }

// Missing returns what a chart declares and does not have in charts/. Helm refuses to render such a chart, whether or
// not a condition turns the dependency off. Subcharts are not asked what they lack, as Helm does not either.
func (c *Chart) Missing() []Dependency { panic("not yet") }

// Dependencies returns what a chart declares.
func (c *Chart) Dependencies() []Dependency { panic("not yet") }

// With returns a chart that has more dependencies, by their keys (alias, or else name), as if they were vendored. An
// error is an *Error: a key that is not declared, a chart of another name.
func (c *Chart) With(deps map[string]*Chart) (*Chart, error) { panic("not yet") }

// KubernetesKinds returns "group/version/Kind" ("v1/Pod") of every kind that the Kubernetes libraries of Helm know,
// sorted. A cluster has them in its API versions; `helm template` has group versions only.
func KubernetesKinds() []string { panic("not yet") }
