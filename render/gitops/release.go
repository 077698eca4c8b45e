package gitops

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	charts "helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/lintel-bot/lintel/render/remote"
)

// Release is a chart and how a controller installs it.
type Release struct {
	_ struct{} `cbor:",toarray"` // there are many in the cache

	Chart Chart

	// Name and Namespace are .Release.Name and .Release.Namespace.
	Name, Namespace           string
	NameWhere, NamespaceWhere Position
	NameUnknown               bool // Name is a placeholder for a name that only the cluster knows

	// Storage is the namespace with the records of a release of Flux. ChartName is empty where it is not known. See
	// Reinstalls.
	Storage, ChartName string
	StorageWhere       Position
	InPlace            bool // a chart of another name upgrades the release

	// Layers are the sources of the user's values, weakest first: see Values.
	Layers []Layer
	// Defaults are files that replace the chart's values.yaml, weakest first; none: it is used. They are Flux'
	// valuesFiles: see ChartValues.
	Defaults []Layer
	Rule     rule
	Limits   Limits

	Kubernetes  string   // version of Kubernetes that the object sets; empty: the cluster's
	APIVersions []string // API versions that the object sets instead of the cluster's
	SkipCRDs    bool     // crds/ is not applied
	KeepCRDs    bool     // crds/ is applied on installation, but not on upgrade
	Hooks       Hooks
	SkipSchema  bool // values.schema.json is ignored
	// PostRender are the kustomizations that the output passes through, in order: see Overrides.Kustomization. Metadata
	// that Flux adds afterwards (commonMetadata, its own labels) is in Deployment.Metadata.
	PostRender []Overrides
	// PostRenderHooks means that hooks pass through PostRender, too. HooksApart means that they do so in a separate
	// run.
	PostRenderHooks, HooksApart bool

	// Reads are the files and folders of this repository that the release reads, including those that do not exist.
	Reads []string
}

// Chart says where the files of a chart are.
type Chart struct {
	_ struct{} `cbor:",toarray"` // there are many in the cache

	// Want is the chart, or another git repository with the chart in Folder. The zero value means this repository.
	Want remote.Want
	// Folder contains Chart.yaml; "." is the top of the repository. It is empty if Want is a chart.
	Folder string
	// Lacks are files of this repository that the source of the chart leaves out of it.
	Lacks []string

	// Where is the field that chooses the version, else the one that names the chart. Named is the field that names the
	// chart. Source is the field with the address. All are in this repository.
	Where, Named, Source Position
}

// Here reports whether the chart is a folder of this repository.
func (c Chart) Here() bool { return c.Want.Kind == "" }

// ExternalSource is a folder of another repository, or of another revision of this one.
type ExternalSource struct {
	Want    remote.Want
	Folder  string   // in the source; "." for its top
	Where   Position // the field that chooses the revision, else the address or the path
	Asked   Position // the field of the deploying object that names the source
	Message string   // of the problem if the source could not be had

	// Detect means that the content of the folder decides what renders it: see the function Detect. Release applies if
	// it is a chart.
	Detect  bool
	Release *Release
}

// rule says how the layers of a release are merged.
type rule int

const (
	argoRule rule = iota // like the program helm
	fluxRule
	overrideRule // like kustomize: the second layer over the first
	underRule    // like kustomize: the second layer adds only missing values
)

// shape lists what a release depends on, except the contents of files that it reads.
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
	return []any{r.Chart.Want, r.Chart.Folder, r.Chart.Lacks, r.Name, r.Namespace, r.NameUnknown, layers, len(r.Defaults), r.Rule,
		r.Kubernetes, r.APIVersions, r.SkipCRDs, r.KeepCRDs, r.Hooks, r.SkipSchema, renderers, r.PostRenderHooks,
		r.HooksApart, r.Storage}
}

// unversioned returns the release without the version of its chart.
func (r *Release) unversioned() *Release {
	if r == nil {
		return nil
	}
	other := *r
	other.Chart.Want.Ref = ""
	return &other
}

// reads adds files of this repository to Reads.
func (r *Release) reads(paths ...string) {
	for _, p := range paths {
		if !slices.Contains(r.Reads, p) {
			r.Reads = append(r.Reads, p)
		}
	}
}

// PlaceholderPrefix begins each text that replaces an unknown value.
const PlaceholderPrefix = "lintel-unknown-"

// placeholder returns a placeholder with a readable name, in characters that are valid in names of Kubernetes.
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

// ReleaseName returns a name for a release of the chart in a folder: that of the folder, if Helm takes it.
func ReleaseName(dir string) string {
	if name := path.Base(dir); chartutil.ValidateReleaseName(name) == nil {
		return name
	}
	return "release"
}

// maxReleaseName is the maximum length of a release name.
const maxReleaseName = 53

// shortName shortens a release name that is too long, like Flux
// (https://fluxcd.io/flux/components/helm/helmreleases/#release-name).
func shortName(name string) string {
	if len(name) <= maxReleaseName {
		return name
	}
	const digits = 12
	return name[:maxReleaseName-digits-1] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:digits]
}

// Revalued returns the place of a value in the object that an earlier version does not set, or sets to another value: the first
// that is false now, which mostly turns something off, or else the first. Values in files do not count.
func (r *Release) Revalued(earlier *Release) (at Position, ok bool) {
	var list []*field
	old := map[string]*field{}
	for _, l := range earlier.Layers {
		old[l.Name] = l.Value
	}
	for _, l := range r.Layers {
		list = l.Value.edited(old[l.Name], list)
	}
	if len(list) == 0 {
		return at, false
	}
	return list[max(slices.IndexFunc(list, func(f *field) bool { return f.Scalar == false }), 0)].Where, true
}

// Renamed returns the place of what names the objects, or changes them after the build, and what an earlier version of the
// deployment does not set or sets to another value. The zero value: there is none.
func (d *Deployment) Renamed(earlier *Deployment) Position {
	var list []*field
	old := map[string]*field{}
	for _, e := range earlier.Overrides.Edits { // each changes another field
		old[e.Key] = e.Value
	}
	for _, e := range d.Overrides.Edits {
		list = e.Value.edited(old[e.Key], list)
	}
	switch {
	case len(list) > 0:
		return list[0].Where
	case d.Namespace != earlier.Namespace:
		return d.NamespaceWhere
	case d.Release != nil && earlier.Release != nil && d.Release.Name != earlier.Release.Name:
		return d.Release.NameWhere
	case d.Release != nil && earlier.Release != nil && d.Release.Storage != earlier.Release.Storage:
		return d.Release.StorageWhere
	}
	return Position{}
}

// Reinstalls reports whether Flux uninstalls the release of an earlier version of a HelmRelease and installs it again
// (helm-controller, ReleaseTargetChanged).
func (d *Deployment) Reinstalls(earlier *Deployment) bool {
	if d.Kind != FluxHelm || earlier.Kind != FluxHelm {
		return false
	}
	differ := func(a, b string) bool { return a != b && a != "" && b != "" }
	is, was := d.Release, earlier.Release
	return differ(is.Storage, was.Storage) || differ(is.Namespace, was.Namespace) || is.Name != was.Name ||
		differ(is.ChartName, was.ChartName) && !is.InPlace
}

// edited adds to a list the scalars that differ from an earlier value, or are new.
func (f *field) edited(old *field, list []*field) []*field {
	switch {
	case f == nil:
	case f.Fields != nil:
		for _, k := range f.Keys {
			list = f.Fields[k].edited(old.get(k), list)
		}
	case f.List:
		for i, item := range f.Items {
			var was *field
			if old != nil && i < len(old.Items) {
				was = old.Items[i]
			}
			list = item.edited(was, list)
		}
	case old == nil || f.Scalar != old.Scalar:
		list = append(list, f)
	}
	return list
}

// Layer is one source of values.
type Layer struct {
	_ struct{} `cbor:",toarray"` // there are many in the cache

	// Name describes the source in messages: "spec.values", "ConfigMap app-values", "values-prod.yaml", "parameter
	// image.tag".
	Name string
	// Where is the field that contains the values, or that names what contains them.
	Where Position
	// File is the path of the file with the values. It is in this repository if Want has no kind, else in the source of
	// Want. It may be a pattern: see Values.
	File string
	Want remote.Want
	// Unknown is the reason why the values are not known; empty: they are known.
	Unknown string
	Lacks   bool // see doc.Error

	Kind      layerKind
	Set       string      // path of a single value, as for Helm's --set
	Value     *field      // the content of a field: an object or a text
	Optional  bool        // it may be missing
	Broken    string      // what is wrong with the layer
	Unsure    string      // why the value may be another one than what is written
	Variables bool        // Flux replaces ${} in its texts
	First     bool        // only the first of several documents is read
	Kustomize bool        // kustomize reads it, and not Helm
	Glob      bool        // File is a pattern
	Named     []layerFile // files that other layers name, which the pattern does not read
	Matched   string      // the files of this repository that the pattern matches
}

// layerKind says how a layer changes the values.
type layerKind int

const (
	mergeLayer   layerKind = iota // merge an object, or a text with an object
	setLayer                      // --set
	stringLayer                   // --set-string
	fileLayer                     // --set-file
	fluxLayer                     // targetPath: --set, or --set-string where the text is quoted
	literalLayer                  // targetPath with literal
)

// layerFile is a file of this repository or of another source.
type layerFile struct {
	Want remote.Want
	Path string
}

// shape lists what the values of a layer depend on, except the contents of files.
func (l Layer) shape() []any {
	return []any{l.Name, l.File, l.Want, l.Unknown, l.Kind, l.Set, l.Value.plain(), hasUnknown(l.Value), l.Optional,
		l.Broken, l.Unsure, l.Glob, l.Matched, l.Variables}
}

// unset matches a variable of Flux' postBuild that was not replaced.
var unset = regexp.MustCompile(`\$\{[_a-zA-Z]\w*`)

// part is a layer with its content.
type part struct {
	Layer
	index     int
	text      string // of a single value, or of a file
	documents []document

	placed *field
}

// leaf replaces a scalar while layers are merged.
type leaf struct {
	*field        // with the scalar's place
	reason string // why the value is not known; empty: it is known
	layer  int
	exact  bool // the place is that of the scalar itself
	null   bool
}

// document is one object of values: as Helm reads it, and with places.
type document struct {
	data  []byte // JSON
	place *field
}

// tree returns a new copy of the layer's values, because merging may change it.
func (p *part) tree(tagged bool) map[string]any {
	out := map[string]any{}
	for _, d := range p.documents {
		var m map[string]any
		_ = json.Unmarshal(d.data, &m) // this package wrote the JSON
		if tagged {
			for k, v := range m {
				m[k] = p.tags(v, d.place, k)
			}
		}
		out = charts.MergeMaps(out, m)
	}
	return out
}

// tags replaces each scalar in a value by a leaf. around is the place of the parent.
func (p *part) tags(v any, around *field, key string) any {
	here := around.at([]string{key})
	exact := here != nil
	if !exact {
		here = around
	}
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			v[k] = p.tags(value, here, k)
		}
		return v
	case []any:
		for i, value := range v {
			if value != nil { // Helm takes a null in a list for a missing value: see Values.settle
				v[i] = p.tags(value, here, strconv.Itoa(i))
			}
		}
		return v
	}
	return &leaf{field: here, reason: p.reason(here), layer: p.index, exact: exact, null: v == nil}
}

// reason returns why the value of a scalar in the layer is not known; empty: it is known.
func (p *part) reason(f *field) string {
	switch text, _ := f.Scalar.(string); {
	case p.Kind != mergeLayer:
		return p.Unknown
	case f.Fields != nil || f.List:
	case f.Unknown:
		return "it depends on values that only the cluster has"
	case p.Variables:
		return variableIn(text)
	}
	return ""
}

// anyReason returns the reason for a value of the layer, or for the first value in it that is not known.
func (p *part) anyReason(f *field) string {
	if reason := p.reason(f); reason != "" {
		return reason
	}
	for _, k := range slices.Sorted(slices.Values(f.Keys)) {
		if reason := p.anyReason(f.Fields[k]); reason != "" {
			return reason
		}
	}
	for _, item := range f.Items {
		if reason := p.anyReason(item); reason != "" {
			return reason
		}
	}
	return ""
}

func variableIn(text string) string {
	if found := unset.FindString(text); found != "" {
		return fmt.Sprintf("nothing in this repository sets %.80s}", found)
	}
	return ""
}

// place returns the layer's values with their places.
func (p *part) place() *field {
	if p.placed != nil {
		return p.placed
	}
	p.placed = &field{Where: p.Where}
	if p.Kind != mergeLayer {
		out := map[string]any{}
		if p.set(out, true) == nil {
			p.placed = made(out, p.Where)
		}
	}
	for _, d := range p.documents {
		p.placed = d.place.over(p.placed, false)
	}
	return p.placed
}
