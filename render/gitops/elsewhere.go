package gitops

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// Elsewhere is a folder of another repository, or of another state of this one.
type Elsewhere struct {
	Want   remote.Want
	Folder string   // in it, "." for its top
	Where  Position // the field that chooses the revision, where there is one, else the address or the path
	Asked  Position // what asks for it, in the object that deploys it
	Says   string   // that it is not checked, for where it is not there

	// Detect says that what the folder holds decides what renders it: see Detect. Release is the release for a chart.
	Detect  bool
	Release *Release
}

func (e *Elsewhere) shape() []any {
	if e == nil {
		return nil
	}
	parts := []any{e.Want, e.Folder, e.Detect}
	if e.Release != nil {
		parts = append(parts, e.Release.tell())
	}
	return parts
}

// Detect returns what Argo CD renders a folder by whose source does not say it
// (https://argo-cd.readthedocs.io/en/stable/user-guide/tool_detection/).
func Detect(t Tree, dir string) Kind {
	switch {
	case kustomizationIn(t, dir) != "":
		return ArgoKustomize
	case isKind(t, path.Join(dir, "Chart.yaml"), tree.File):
		return ArgoHelm
	}
	return ArgoDirectory
}

// HasSourceFile reports whether a folder has parameters that Argo CD merges over an Application's source
// (https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git).
func HasSourceFile(t Tree, d *Deployment, dir string) bool {
	return isKind(t, path.Join(dir, ".argocd-source.yaml"), tree.File) ||
		d.Name != "" && isKind(t, path.Join(dir, ".argocd-source-"+d.Name+".yaml"), tree.File)
}

// Below returns the file as it is where its folder, and what it comes from, stands below a prefix.
func (v *Virtual) Below(prefix string) *Virtual {
	out := *v
	out.Path = path.Join(prefix, v.Path)
	out.lines = make([]line, len(v.lines))
	for i, l := range v.lines {
		if l.at.Path == v.Path {
			l.at.Path = out.Path
		}
		out.lines[i] = l
	}
	return &out
}

func elsewhereWords(repository string) string {
	return fmt.Sprintf("the source is another repository, %.200s: what is deployed from it is not checked",
		cmp.Or(repository, "which nothing here names"))
}

func anotherWords(revision string) string {
	return fmt.Sprintf("the source is another revision of this repository, %.200s, and not what is "+
		"to be merged here: what is deployed from it is not checked", revision)
}

// argoElsewhere reads a source of an Application that is not this state of this repository. It returns false where what
// it is cannot be asked for.
func (r *reader) argoElsewhere(app, s *field, index int, at Position, words string) bool {
	address, revision := s.text("repoURL"), s.text("targetRevision")
	dir, ok := tree.Clean(s.text("path"))
	unknown := func(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "${") }
	if !r.Releases || !ok || address == "" || unknown(address) || unknown(revision) || unknown(dir) ||
		s.present("plugin") || s.present("helm") || hasUnknown(s.get("repoURL")) || hasUnknown(s.get("targetRevision")) {
		return false
	}
	e := &Elsewhere{Want: argoGit(address, revision),
		Folder: dir, Where: s.position("targetRevision"), Asked: at, Says: words}
	if revision == "" {
		e.Where = s.position("repoURL")
	}
	d := Deployment{
		Path: app.position("metadata", "name").Path, Object: r.object, Name: app.text("metadata", "name"), Source: index,
		Revision: revision, Where: app.position("metadata", "name"), PathWhere: s.position("path"), Elsewhere: e,
	}
	d.Cluster, d.Namespace, d.NamespaceWhere = argoDestination(app)
	d.Directory = Directory{Recurse: s.truth("directory", "recurse"), Include: s.text("directory", "include"),
		Exclude: s.text("directory", "exclude")}
	switch {
	case s.present("kustomize"):
		d.Kind, d.Overrides = ArgoKustomize, r.argoOverrides(s.get("kustomize"), s, app)
	case s.present("directory"):
		d.Kind = ArgoDirectory
	default:
		d.Kind, e.Detect = ArgoDirectory, true
		e.Release = r.argoRelease(app, s, Chart{Want: e.Want, Folder: dir, Where: e.Where, Named: d.PathWhere,
			Source: s.position("repoURL")})
	}
	if hasUnknown(s.get("kustomize")) || hasUnknown(s.get("directory")) ||
		hasUnknown(app.get("spec", "destination", "namespace")) {
		r.needed()
	}
	r.found = append(r.found, d)
	return true
}

// fluxElsewhere is the same for the source of a Kustomization of Flux, which is otherwise read.
func (r *reader) fluxElsewhere(d *Deployment, from fluxSource, at Position, words string) bool {
	if !r.Releases || from.repository == "" || strings.Contains(from.repository+from.revision, "${") {
		return false
	}
	ref := from.revision
	if from.semver {
		ref = remote.Versions + ref
	}
	d.Elsewhere = &Elsewhere{Want: remote.Want{Kind: remote.Git, URL: from.repository, Ref: ref,
		Submodules: from.submodules}, Folder: from.inside, Where: from.where, Asked: at, Says: words}
	if from.where.Path == "" {
		d.Elsewhere.Where = at
	}
	return true
}
