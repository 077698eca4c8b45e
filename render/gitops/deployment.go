package gitops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
)

// Position is a place in the sources.
type Position struct {
	_       struct{} `cbor:",toarray"` // there are many in the cache
	Path    string   `json:",omitzero"`
	Line    int      `json:",omitzero"` // from 1; 0: the file as a whole
	Column  int      `json:",omitzero"` // from 1; 0: the line as a whole
	EndLine int      `json:",omitzero"` // last line of the value; 0: the same as Line
}

// Tree reads a repository; render/tree.Tree implements it. Paths are slash-separated. A missing path gives the error
// tree.ErrNotExist.
type Tree = env.Files

// RepoNames identifies the repository among those that objects name. If it is empty, a source is this repository if its
// path exists in the tree.
type RepoNames struct {
	// URLs are clone URLs in any spelling, or "owner/name", or a name, which matches any owner because of forks.
	URLs []string
	// Branches are the names that objects may use for the branch of the tree. If there are none, every revision that
	// may be a branch is taken for it.
	Branches []string
}

// Limits limit the cost of reading the objects. The zero value means the defaults.
type Limits struct {
	Source    doc.Limits // of one file that a generator reads
	Sets      int        // parameter sets of one ApplicationSet; default 5,000
	Files     int        // entries of folders that one generator or folder source looks at; default 100,000
	Steps     int        // work of one ApplicationSet's templates, in values touched; default 2,000,000
	TextBytes int        // of one text that a template or a substitution makes; default 1 MiB
}

func (l Limits) withDefaults() Limits {
	l.Sets, l.Files = cmp.Or(l.Sets, 5000), cmp.Or(l.Files, 100_000)
	l.Steps, l.TextBytes = cmp.Or(l.Steps, 2_000_000), cmp.Or(l.TextBytes, 1<<20)
	return l
}

// Options are what the objects are read with.
type Options struct {
	Tree   Tree
	Repo   RepoNames
	Limits Limits
	Links  bool               // the tree has symlinks, which Flux leaves out
	Find   func(Wanted) Found // finds the objects that others refer to; nil: there are none
	// Memory caches what each object with an id deploys. Callers do not change the result.
	Memory    *env.Memory
	BlobLimit int64 // of the tree: a larger file cannot be read
	// Several is called for each object that refers to one of several objects of a name that differ, so that the cluster
	// of the object decides which of them it has. nil: the nearest one counts. It is also called for each ApplicationSet
	// that selects clusters: what is deployed decides which.
	Several func(Object)
}

// Kind says what renders a deployment.
type Kind string

// The kinds of deployments.
const (
	ArgoDirectory Kind = "argo directory" // manifests as they are: see Files
	ArgoKustomize Kind = "argo kustomize"
	ArgoHelm      Kind = "helm" // a chart: see Release
	Flux          Kind = "flux"
	FluxHelm      Kind = "flux helm" // a HelmRelease: see Release
)

// Reference identifies the object that deploys something.
type Reference struct{ Kind, Namespace, Name string }

// String returns the kind, and the name with its namespace.
func (r Reference) String() string {
	return r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// Root returns the name of the root that the object deploys: see roots.Root.Name.
func (r Reference) Root() string {
	kind := r.Kind
	if kind == "Kustomization" {
		kind = "FluxKustomization"
	}
	return kind + "/" + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// APIVersion returns the API version that objects of the kind have.
func (r Reference) APIVersion() string {
	switch r.Kind {
	case "Application", "ApplicationSet":
		return "argoproj.io/v1alpha1"
	case "HelmRelease":
		return "helm.toolkit.fluxcd.io/v2"
	}
	return "kustomize.toolkit.fluxcd.io/v1"
}

// Deployment is one folder of the repository, or a release of a chart, that a controller applies to a cluster.
type Deployment struct {
	_ struct{} `cbor:",toarray"` // there are many in the cache

	Kind     Kind
	Path     string          // folder in the repository, "." for its top; for a remote chart or source, the object's file
	Object   Reference       // Application, ApplicationSet or Kustomization
	Name     string          // of the Application or Kustomization; for an ApplicationSet, of the generated Application
	Source   int             // index in spec.sources
	Revision string          // branch, tag or commit as written; empty or HEAD: the default branch
	Cluster  string          // name or address of the cluster, for messages; may be empty
	To       Cluster         // the cluster that the object names; the zero value: the cluster that the object is in
	Part     string          // see Cluster.Part, which To does not have
	Recreate bool            // resources that cannot be updated are deleted and created again
	Replace  bool            // resources are replaced where they are not applied: see the method Replaces
	Applied  bool            // Argo CD applies resources on the server's side: see the method AppliesOnServer
	Ignored  []IgnoredFields // fields that Argo CD leaves as the cluster has them: see the method Ignores
	Unpruned bool            // what is no longer in the folder stays in the cluster
	Orphans  bool            // everything stays in the cluster when the object goes
	Lasts    bool            // the generated Application stays when its ApplicationSet stops generating it
	Certain  bool            // the generators make the Application of what the repository says

	// Namespace is the namespace of namespaced objects that name none (Argo CD's destination). Flux' target namespace
	// is part of Overrides instead: kustomize writes it over the namespaces in the manifests.
	Namespace      string
	NamespaceWhere Position
	Created        *Namespace // with which the namespace is created; nil: it is not

	Directory  Directory       // of an ArgoDirectory
	Overrides  Overrides       // changes of the folder's kustomization: see Edit
	Metadata   Metadata        // Flux' commonMetadata: see Finish
	Tracking   Metadata        // that Helm adds to objects of a release, but not to hooks and crds/: see Finish
	Substitute Substitution    // Flux' postBuild: see Finish
	Release    *Release        // of a chart
	External   *ExternalSource // the folder is in another repository, and Path is the object's file
	Exclusion  Exclusion       // what Flux' source leaves out, if that may concern the folder
	LeavesOut  bool            // part of the folder is left out: see Leaves
	Suspended  bool            // the controller changes nothing until the object is resumed

	Marks map[string]string // annotations that may keep the object itself in the cluster: see Itself

	From      string   // the root that renders the object; empty: the object is in a file
	Nth       int      // number among deployments of the same ID that differ
	Only      string   // the name of the cluster that this is the deployment for, where the clusters of the object differ
	Where     Position // of the object
	Element   Position // of what a generator made the Application from: an element of a list, or a file; zero: unknown
	PathWhere Position // its path field
	ToWhere   Position // the field that says which cluster
	ToValue   Position // of the value that a template prints there; zero: unknown, or there is none
}

// Directory selects the manifests of a folder (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/).
type Directory struct {
	Recurse          bool
	Include, Exclude string // globs over paths below the folder; "*" crosses folders, {a,b} are alternatives
	State            string `json:"-" cbor:"state"` // of the Application's source: see reader.ask
}

// Metadata is set on every object of a deployment.
type Metadata struct{ Labels, Annotations map[string]Value }

// Value is a text and where it is written.
type Value struct {
	Text  string
	Where Position
}

// Substitution is what Flux replaces ${variables} with after the build.
type Substitution struct {
	Variables map[string]Value
	Always    bool       // replace even if no variable is set, so that defaults apply
	Unread    []Position // sources that only the cluster has, and that may set more variables
}

// Active reports whether Flux replaces anything. Without variables it leaves ${} unchanged.
func (s Substitution) Active() bool { return s.Always || len(s.Variables) > 0 || len(s.Unread) > 0 }

// ID identifies a deployment within its tree. It is the same in the next commit for the same object, source and file.
func (d *Deployment) ID() string {
	id := strings.ToLower(d.Object.Kind) + "/" + d.Object.Namespace + "/" + d.Object.Name + "/" + d.Name +
		"[" + strconv.Itoa(d.Source) + "]:" + d.Path + "@" + cmp.Or(d.From, d.Where.Path)
	if d.Nth > 0 {
		id += "#" + strconv.Itoa(d.Nth)
	}
	if d.Only != "" {
		id += "#" + d.Only
	}
	return id
}

// NameOf returns NAMESPACE/NAME of the deployment with an ID. For an ApplicationSet it is the name of the generated
// Application.
func NameOf(id string) string {
	parts := strings.SplitN(id, "/", 4)
	if len(parts) < 4 {
		return id
	}
	name, _, _ := strings.Cut(parts[3], "[")
	return strings.TrimPrefix(parts[1]+"/"+cmp.Or(name, parts[2]), "/")
}

// Unmodified reports whether a deployment changes nothing of the kustomization in its folder, if there is one.
func (d *Deployment) Unmodified() bool {
	return d.Kind != ArgoDirectory && d.Release == nil && d.External == nil && !d.LeavesOut && d.Namespace == "" && len(d.Overrides.Edits) == 0 &&
		!d.Substitute.Active() && len(d.Metadata.Labels) == 0 && len(d.Metadata.Annotations) == 0
}

// Digest is different for two deployments that may render differently from the same files. It does not depend on
// places.
func (d *Deployment) Digest() string { return digest(append(d.parts(), d.Path)...) }

// Unversioned is like Digest, but does not depend on the versions of the chart and of the source.
func (d *Deployment) Unversioned() string {
	other := *d
	other.Release = d.Release.unversioned()
	if d.External != nil {
		source := *d.External
		source.Want.Ref, source.Release = "", source.Release.unversioned()
		other.External = &source
	}
	return other.Digest()
}

// Text returns the fields of the object that affect what it deploys, as one text to search in: names, values, patches.
// It does not include files that the object names.
func (d *Deployment) Text() []byte {
	data, _ := json.Marshal(d.parts())
	return data
}

// parts returns what a deployment depends on besides its folder.
func (d *Deployment) parts() []any {
	parts := []any{d.Kind, d.Namespace, d.Directory, d.Overrides.shape(), texts(d.Metadata.Labels),
		texts(d.Metadata.Annotations), texts(d.Substitute.Variables), d.Substitute.Always, len(d.Substitute.Unread),
		d.Release.shape(), d.LeavesOut}
	if n := d.Created; n != nil {
		parts = append(parts, n.Managed, texts(n.Labels), texts(n.Annotations))
	}
	if e := d.External; e != nil {
		parts = append(parts, e.Want, e.Folder, e.Detect, e.Release.shape())
	}
	return parts
}

func texts(m map[string]Value) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v.Text
	}
	return out
}

// Evaluation is what one object deploys, and the problems that keep parts of that from being known.
type Evaluation struct {
	Deployments []Deployment
	Problems    []Problem
	Several     bool // see Options.Several
}

// reader evaluates one object.
type reader struct {
	Options
	wanted   func(Wanted) []Object
	found    []Deployment
	problems problems
	object   Reference       // the object that is read
	where    Position        // where its name is written
	from     string          // the root that renders it
	asked    []any           // what the next problem's state consists of: see ask
	several  bool            // see Options.Several
	unknown  *need           // what the current Application depends on that only the cluster has; nil: nothing
	guess    bool            // only the cluster knows whether the current Application exists
	choosing string          // see the function choosing
	part     string          // see partOf
	needs    map[string]bool // reasons why folders or namespaces of the current ApplicationSet are not known
	open     Open            // what is open in the current ApplicationSet
}

// Deployments returns what the Argo CD and Flux objects in a list deploy from this repository, sorted by path and ID.
// Other objects in the list deploy nothing.
func Deployments(objects []Object, o Options) ([]Deployment, []Problem) {
	if o.Limits = o.Limits.withDefaults(); o.Find == nil {
		o.Find = func(Wanted) Found { return Found{} }
	}
	var found []Deployment
	var all problems
	for _, object := range objects {
		if !Deploys(object.Group, object.Kind) {
			continue
		}
		one := o.once(object)
		if one.Several && o.Several != nil {
			o.Several(object)
		}
		for _, d := range one.Deployments {
			d.From = object.from
			found = append(found, d)
		}
		for _, p := range one.Problems {
			all.add(p)
		}
	}
	slices.SortStableFunc(found, func(a, b Deployment) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		return strings.Compare(a.ID(), b.ID())
	})
	// The same object may be in a file twice. If the two differ, the cluster has the one that is applied last. Both
	// count as deployed, so that neither hides the other. So do two generators that select different clusters.
	same := func(a, b Deployment) bool { return a.ID() == b.ID() && a.Digest() == b.Digest() && a.To == b.To }
	for i := len(found) - 1; i > 0; i-- {
		if a, b := &found[i-1], &found[i]; a.Part != b.Part && same(*a, *b) {
			a.Part, b.Part = "", ""
		}
	}
	found = slices.CompactFunc(found, same)
	for i := 1; i < len(found); i++ {
		before := found[i-1]
		if before.Nth = 0; before.ID() == found[i].ID() {
			found[i].Nth = found[i-1].Nth + 1
		}
	}
	return found, all.list
}

// evaluations have what finds the deployments of an object, by its group and kind.
var evaluations = map[[2]string]func(*reader, *field) *Problem{
	{argoGroup, "Application"}: (*reader).application, {argoGroup, "ApplicationSet"}: (*reader).applicationSet,
	{fluxGroup, "Kustomization"}: (*reader).fluxKustomization, {helmGroup, "HelmRelease"}: (*reader).helmRelease,
}

// Deploys reports whether objects of a kind deploy something.
func Deploys(group, kind string) bool { return evaluations[[2]string{group, kind}] != nil }

var evaluationTable = env.Table{Name: "evaluation"}

// once evaluates an object, or returns the cached result. That is good as long as everything read from the tree is the same,
// and the objects that it refers to.
func (o Options) once(object Object) Evaluation {
	if o.Memory == nil || object.id == "" {
		return o.evaluate(object, func(n Wanted) []Object { return o.Find(n).Objects })
	}
	key := fmt.Sprintf("%d %q %v %t %q %s", o.BlobLimit, o.Repo, o.Limits, o.Links, object.from, object.id)
	if known, ok := env.Get[Evaluation](o.Memory, evaluationTable, key, o); ok {
		return known
	}
	record, asked := env.Record(o.Tree), env.Asked{}
	recorded := o
	recorded.Tree = record
	out := recorded.evaluate(object, func(n Wanted) []Object {
		name, _ := json.Marshal(n) // it consists of texts
		found := o.Find(n)
		asked[env.Question{Kind: env.Wanted, Name: string(name)}] = found.Digest
		return found.Objects
	})
	maps.Copy(asked, record.Asked())
	env.Put(o.Memory, evaluationTable, key, asked, out)
	return out
}

// Answer implements env.Answerer: it answers questions about the tree, and about the objects that others refer to.
func (o Options) Answer(q env.Question) string {
	var n Wanted
	if q.Kind == env.Wanted && json.Unmarshal([]byte(q.Name), &n) == nil {
		return o.Find(n).Digest
	}
	return env.Of(o.Tree, q)
}

func (o Options) evaluate(object Object, wanted func(Wanted) []Object) Evaluation {
	root := object.root()
	r := &reader{Options: o, from: object.from, where: root.position("metadata", "name"), object: object.Reference(), wanted: wanted}
	r.problem(evaluations[[2]string{object.Group, object.Kind}](r, root))
	orphans, marks, policy := root.orphans(), marksOf(root), root.text("spec", "syncPolicy", "applicationsSync")
	suspended := object.Group != argoGroup && root.truth("spec", "suspend") ||
		root.text("metadata", "annotations", skipReconcile) == "true"
	for i := range r.found {
		d := &r.found[i]
		d.Orphans, d.Marks, d.Suspended = orphans, marks, suspended
		d.Lasts = policy == "create-only" || policy == "create-update"
	}
	if suspended {
		return Evaluation{Deployments: r.found}
	}
	return Evaluation{r.found, r.problems.list, r.several}
}

// Kinds lists the kinds of objects that Deployments reads: those that deploy, and those that it only looks up for Flux,
// as sources and for values.
func Kinds() (deploy, context []string) {
	return []string{"Application", "ApplicationSet", "Kustomization", "HelmRelease"},
		append([]string{"GitRepository", "ArtifactGenerator", "OCIRepository", "HelmRepository", "Bucket", "HelmChart", "ConfigMap"},
			Declaring()...)
}
