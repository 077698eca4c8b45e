package gitops

import (
	"github.com/lintel-bot/lintel/render/remote"
)

// Release is a chart and what a controller installs it with.
type Release struct {
	Chart Chart

	// Name and Namespace are those of the release (.Release.Name, .Release.Namespace).
	Name, Namespace           string
	NameWhere, NamespaceWhere Position
	NameUnknown               bool // Name stands in for one that only the cluster knows

	// Layers are the sources of the user's values, weakest first: see Values.
	Layers []Layer
	// Defaults are files that take the place of the chart's own values.yaml, weakest first; empty: it counts. Flux has
	// them as valuesFiles: see ChartValues.
	Defaults []Layer
	rule     rule

	Kubernetes  string   // version of Kubernetes that the object asks for; empty: the cluster's
	APIVersions []string // that the object asks for in place of the cluster's
	SkipCRDs    bool     // what is in crds/ is not applied
	SkipTests   bool
	SkipSchema  bool // values.schema.json does not count
	// PostRender are the kustomizations that the output goes through, in their order: see Overrides.Kustomization. What
	// Flux puts on every object after that (commonMetadata, its own labels) is Deployment.Metadata.
	PostRender []Overrides

	// Reads are the files and folders of this repository that it reads, those included that are not there.
	Reads []string
}

// Chart says where the files of a chart are.
type Chart struct {
	// Want is a chart, or another git repository with the chart in Folder. Its zero value means this repository.
	Want remote.Want
	// Folder has Chart.yaml, "." at the top of the repository. It is empty where Want is a chart.
	Folder string

	// Where is the field that chooses the version, where there is one, else the one that names the chart. Named is the
	// latter. Source is the address that it comes from. All are of this repository.
	Where, Named, Source Position
}

// Here reports whether the chart is a folder of this repository.
func (c Chart) Here() bool { return c.Want.Kind == "" }

// rule is how the layers of a release become its values.
type rule int

const (
	argoRule rule = iota // Helm's own, as its program has it
	fluxRule
)

// Layer is one source of values.
type Layer struct {
	// Name says what it is, for people: "spec.values", "ConfigMap app-values", "values-prod.yaml", "parameter image.tag".
	Name string
	// Where is the field that holds the values, or that names what holds them.
	Where Position
	// File is the path of the file that holds them, in this repository unless Want or OfChart says otherwise.
	File    string
	Want    remote.Want // the repository or the file it is in
	OfChart bool        // File is of the chart: a path in the folder of the chart's files
	// Unknown says why nobody knows what it holds, in a few words; empty: it is known.
	Unknown string
}

// Unknown is something in the values that nobody knows before merge.
type Unknown struct {
	Path   []string // in the values; nil: any of them that no stronger layer sets
	Where  Position // what asks for it
	Reason string   // "Secret app-secrets is encrypted"
}

// Values are the user's values of a release, merged.
type Values struct {
	// Map is what Helm is given. Whoever reads it does not change it.
	Map     map[string]any
	Unknown []Unknown
	Reads   []string // files of this repository that were read
}

// Values merges the layers as the release's controller does. t is this repository, chart has the files of the chart's
// folder. An error is a *Problem, or what a source of sources gives (see remote.Sources.Get).
func (r *Release) Values(t Tree, chart Tree, sources *remote.Sources) (*Values, error) { return nil, nil }

// ChartValues merges Defaults; it returns nil where the chart's own values count.
func (r *Release) ChartValues(t Tree, chart Tree, sources *remote.Sources) (*Values, error) { return nil, nil }

// Origin returns where the value at a path of the merged values is written: keys of maps and indexes of lists. Where the
// path is not among the user's values it is the nearest one around it that is, and exact is false.
func (v *Values) Origin(path []string) (at Position, exact bool) { return Position{}, false }

// Chain lists where the values stand that the one at a path takes the place of, strongest first, itself not included.
func (v *Values) Chain(path []string) []Position { return nil }

// Unsure returns what nobody knows that may decide the value at a path.
func (v *Values) Unsure(path []string) (Unknown, bool) { return Unknown{}, false }

// Kustomization writes a kustomization of its own that does to resources what o says.
func (o Overrides) Kustomization(file string, resources ...string) *Virtual { return nil }
