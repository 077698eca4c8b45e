package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

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
	// Defaults are files that take the place of the chart's own values.yaml, weakest first; none: it counts. Flux has
	// them as valuesFiles: see ChartValues.
	Defaults []Layer
	rule     rule
	limits   Limits

	Kubernetes  string   // version of Kubernetes that the object asks for; empty: the cluster's
	APIVersions []string // that the object asks for in place of the cluster's
	SkipCRDs    bool     // what is in crds/ is not applied
	KeepCRDs    bool     // it is applied when the chart is installed, and stays as it is when the chart changes
	SkipTests   bool
	SkipSchema  bool // values.schema.json does not count
	// PostRender are the kustomizations that the output goes through, in their order: see Overrides.Kustomization. What
	// Flux puts on every object after that (commonMetadata, its own labels) is Deployment.Metadata.
	PostRender []Overrides
	// PostRenderHooks has hooks go through PostRender, too; HooksApart has them do so by themselves.
	PostRenderHooks, HooksApart bool

	// Reads are the files and folders of this repository that it reads, those included that are not there.
	Reads []string
}

// Chart describes where the files of a chart are.
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

// ExternalSource is a folder of another repository, or of another state of this one.
type ExternalSource struct {
	Want    remote.Want
	Folder  string   // in it, "." for its top
	Where   Position // the field that chooses the revision, where there is one, else the address or the path
	Asked   Position // what asks for it, in the object that deploys it
	Message string   // of the problem where the source is not there

	// Detect means that what the folder holds decides what renders it: see Detect. Release is the release for a chart.
	Detect  bool
	Release *Release
}

// rule is how the layers of a release become its values.
type rule int

const (
	argoRule rule = iota // as Helm's program has them
	fluxRule
	overrideRule // as kustomize has the first two: the second over the first
	underRule    // the same, for values that fill in what others leave out
)

// shape lists what a release depends on, the contents of the files that it reads aside.
func (r *Release) shape() []any {
	if r == nil {
		return nil
	}
	var layers, renderers []any
	for _, l := range slices.Concat(r.Layers, r.Defaults) {
		layers = append(layers, l.shape())
	}
	for _, o := range r.PostRender {
		renderers = append(renderers, o.shape())
	}
	return []any{r.Chart.Want, r.Chart.Folder, r.Name, r.Namespace, r.NameUnknown, layers, len(r.Defaults), r.rule,
		r.Kubernetes, r.APIVersions, r.SkipCRDs, r.KeepCRDs, r.SkipTests, r.SkipSchema, renderers, r.PostRenderHooks,
		r.HooksApart}
}

// unversioned is the release of no version of its chart.
func (r *Release) unversioned() *Release {
	if r == nil {
		return nil
	}
	other := *r
	other.Chart.Want.Ref = ""
	return &other
}

// reads notes files of this repository.
func (r *Release) reads(paths ...string) {
	for _, p := range paths {
		if !slices.Contains(r.Reads, p) {
			r.Reads = append(r.Reads, p)
		}
	}
}

// PlaceholderPrefix begins each text that stands in the values for one that nobody knows.
const PlaceholderPrefix = "lintel-unknown-"

// placeholder names what it stands for with the signs that a name in Kubernetes may have.
func placeholder(parts ...string) string {
	clean := func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}
	name := strings.Trim(strings.Map(clean, strings.ToLower(strings.Join(parts, "-"))), "-")
	return strings.Trim(PlaceholderPrefix+name[:min(len(name), 63-len(PlaceholderPrefix))], "-")
}

// maxReleaseName is how long a name of a release may be.
const maxReleaseName = 53

// shortName is the name that Flux gives a release whose own is too long
// (https://fluxcd.io/flux/components/helm/helmreleases/#release-name).
func shortName(name string) string {
	if len(name) <= maxReleaseName {
		return name
	}
	const digits = 12
	sum := sha256.Sum256([]byte(name))
	return name[:maxReleaseName-digits-1] + "-" + hex.EncodeToString(sum[:])[:digits]
}
