package gitops

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

const (
	fluxGroup   = "kustomize.toolkit.fluxcd.io"
	helmGroup   = "helm.toolkit.fluxcd.io"
	sourceGroup = "source.toolkit.fluxcd.io"
)

// fluxKustomization reads one Kustomization of Flux (https://fluxcd.io/flux/components/kustomize/kustomizations/).
func (r *reader) fluxKustomization(root *field) *Problem {
	spec := root.get("spec")
	d := r.fluxDeployment(root, Flux)
	d.PathWhere, d.Recreate = spec.position("path"), spec.truth("force")
	d.Unpruned = spec.text("prune") == "false"
	// Flux joins the path below the source's root, wherever it points.
	dir, ok := tree.Clean(strings.TrimLeft(path.Clean("/"+spec.text("path")), "/"))
	if dir == "" || !ok {
		dir = "."
	}
	if strings.Contains(dir, "${") {
		return problemAt(d.PathWhere, ClusterOnly, "the path has a variable that another Kustomization substitutes: what is "+
			"deployed from it is not known")
	}
	for _, key := range []string{"targetNamespace", "namePrefix", "nameSuffix"} {
		if strings.Contains(spec.text(key), "${") {
			r.problem(problemAt(spec.position(key), ClusterOnly, "%s has a variable that another Kustomization substitutes: "+
				"what is deployed is not known", key))
		}
	}
	ref := spec.get("sourceRef")
	from := r.fluxSource(ref, d.Object.Namespace, dir)
	r.ask(d.Name, spec)
	r.also(from.spec...)
	at, words := spec.position("sourceRef", "name"), "" // words: why the source is not this revision of this repository
	switch dir = from.inside; {
	case from.missing:
		return lacking(at, "no GitRepository of this repository has the name %q: where "+
			"Kustomization %q comes from is not known", ref.text("name"), d.Name)
	case from.packed:
		return problemAt(at, ClusterOnly, "the source is %.40s %q, an artifact that is built outside this "+
			"repository: what is deployed from "+
			"it is not checked", ref.text("kind"), ref.text("name"))
	case !from.known:
		return problemAt(spec.position("sourceRef"), ClusterOnly, "the artifact that Kustomization %q reads holds no "+
			"single folder of this repository at its path: what is deployed from it is not known", d.Name)
	case !r.ours(from.repository, dir):
		words = otherRepository(cmp.Or(from.repository, strings.TrimSpace(ref.text("kind")+" "+ref.text("name"))))
	case !r.Repo.Current(from.revision):
		words = otherRevision(from.revision)
	case !isKind(r.Tree, dir, tree.Dir):
		return problemAt(d.PathWhere, Broken, "the path of Kustomization %q is not a folder of this repository", d.Name)
	case resolved(r.Tree, dir) != dir:
		return problemAt(d.PathWhere, Broken, "the path of Kustomization %q leads through a symlink, which Flux leaves out "+
			"of its sources: Flux has nothing to build from it", d.Name)
	default:
		d.Path = dir
		if problem := r.leave(&d, from, at); problem != nil {
			return problem
		}
	}
	if words != "" {
		if from.repository == "" || strings.Contains(from.repository+from.revision, "${") {
			return problemAt(at, ClusterOnly, "%s", words)
		}
		d.External = &ExternalSource{Want: from.want(), Folder: dir, Where: from.where, Asked: at, Message: words}
		if from.where.Path == "" {
			d.External.Where = at
		}
	}
	d.Overrides = r.fluxOverrides(root, spec)
	if post := spec.get("postBuild"); post.present() {
		d.Substitute = r.substitution(post)
	}
	r.found = append(r.found, d)
	return nil
}

// fluxDeployment returns the fields that all deployments by Flux have in common.
func (r *reader) fluxDeployment(root *field, kind Kind) Deployment {
	spec := root.get("spec")
	config := cmp.Or(spec.text("kubeConfig", "secretRef", "name"), spec.text("kubeConfig", "configMapRef", "name"))
	to := Cluster{}
	if config != "" {
		to = Cluster{By: ByConfig, Name: r.object.Namespace + "/" + config + "/" + spec.text("kubeConfig", "secretRef", "key")}
	}
	people := config
	if folder := ClusterOfFolder(path.Dir(r.where.Path)); people == "" && folder.Name != "" {
		people = path.Base(folder.Name)
	}
	return Deployment{
		Kind: kind, Path: r.where.Path, Object: r.object, Name: r.object.Name, Where: r.where, Cluster: people, To: to,
		ToWhere:  spec.position("kubeConfig"),
		Metadata: Metadata{valuesOf(spec.get("commonMetadata", "labels")), valuesOf(spec.get("commonMetadata", "annotations"))},
	}
}

// fluxSource is the source of a Kustomization of Flux, or of the chart of a HelmRelease.
type fluxSource struct {
	repository string   // its address; empty if no object here has it: bootstrap writes it to the cluster
	revision   string   // empty for the default branch
	inside     string   // the folder in the repository
	known      bool     // inside is known
	packed     bool     // an artifact that is not a repository
	missing    bool     // no object here has it, and another one is this repository
	submodules bool     // submodules are fetched, too
	semver     bool     // revision is a range of versions
	several    bool     // several objects match, with different contents
	where      Position // the field that chooses the revision, else that of the address
	address    Position // where the address is written
	spec       []any    // the fields that this is read from
	exclusion  Exclusion
	includes   []*field // included files of other sources
}

// want returns the want for a source in another repository, or another revision of this one.
func (s fluxSource) want() remote.Want {
	ref := s.revision
	if s.semver {
		ref = remote.Versions + ref
	}
	return remote.Want{Kind: remote.Git, URL: s.repository, Ref: ref, Submodules: s.submodules}
}

// fluxSource reads the source that a reference in a namespace names.
func (r *reader) fluxSource(ref *field, namespace, dir string) fluxSource {
	kind, name, namespace := ref.text("kind"), ref.text("name"), cmp.Or(ref.text("namespace"), namespace)
	switch kind {
	case "", "GitRepository":
		return r.gitRepository(name, namespace, dir)
	case "ExternalArtifact":
		return r.artifact(name, namespace, dir)
	}
	says := first(r.nearest(Wanted{Group: sourceGroup, Kind: kind, Namespace: namespace, Name: name}, nil)).get("spec")
	return fluxSource{packed: true, spec: []any{says}}
}

func (r *reader) gitRepository(name, namespace, dir string) fluxSource {
	list := r.nearest(Wanted{Group: sourceGroup, Kind: "GitRepository", Namespace: namespace, Name: name}, nil)
	spec := first(list).get("spec")
	from := fluxSource{repository: spec.text("url"), inside: dir, known: true, spec: []any{spec}, where: spec.position("url"),
		address: spec.position("url"), submodules: spec.truth("recurseSubmodules"), several: !agree(list, "spec"),
		exclusion: Exclusion{Ignore: spec.text("ignore")}, includes: spec.elements("include")}
	if len(list) == 0 && len(r.Repo.URLs) > 0 && name != "flux-system" { // which bootstrap writes to the cluster
		all := r.wanted(Wanted{Group: sourceGroup, Kind: "GitRepository", Any: true})
		from.missing = slices.ContainsFunc(all, func(o Object) bool { return r.Repo.Match(o.root().text("spec", "url")) }) &&
			!slices.ContainsFunc(all, func(o Object) bool { return o.Name == name }) // of another namespace, by mistake
	}
	for _, dir := range spec.elements("sparseCheckout") {
		from.exclusion.Sparse = append(from.exclusion.Sparse, dir.text())
	}
	for _, key := range RevisionFields {
		if from.revision = spec.text("ref", key); from.revision != "" {
			from.semver, from.where = key == "semver", spec.position("ref", key)
			if key == "tag" {
				from.revision = "refs/tags/" + from.revision
			}
			break
		}
	}
	return from
}

// RevisionFields are the fields of a GitRepository's reference. The first that is set counts
// (https://fluxcd.io/flux/components/source/gitrepositories/#reference).
var RevisionFields = []string{"commit", "name", "semver", "tag", "branch"}

// nearest finds the objects that a reference may mean; is selects some of them, nil: all. A repository may have one for
// each cluster: then it is the one whose file is nearest to the file of the current object. Several that are equally near
// are all returned.
func (r *reader) nearest(of Wanted, is func(*field) bool) (list []*field) {
	best := -1
	var all []*field
	for _, o := range r.wanted(of) {
		f := o.root()
		if is != nil && !is(f) {
			continue
		}
		all = append(all, f)
		n := shared(o.File, r.where.Path)
		if n > best {
			best, list = n, nil
		}
		if n == best {
			list = append(list, f)
		}
	}
	if !(r.beside(list) && agree(list, contents...)) && (!agree(all, contents...) || of.Group == "" && slices.ContainsFunc(all, isOfCluster)) {
		r.several = true
	}
	return list
}

// isOfCluster reports whether an object is in the folder of a cluster, which other clusters do not have.
func isOfCluster(f *field) bool {
	return ClusterOfFolder(path.Dir(f.position("metadata", "name").Path)) != Cluster{}
}

// contents are the fields of objects that others refer to.
var contents = []string{"spec", "data", "stringData", "sops"}

// beside reports whether an object is in the folder of the same cluster as the current object.
func (r *reader) beside(list []*field) bool {
	own := ClusterOfFolder(path.Dir(r.where.Path))
	return len(list) > 0 && own != Cluster{} && own == ClusterOfFolder(path.Dir(list[0].position("metadata", "name").Path))
}

// first returns the first of some objects, nil where there are none.
func first(list []*field) *field {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// agree reports whether all objects have the same values in some fields.
func agree(list []*field, keys ...string) bool {
	for _, key := range keys {
		for i, f := range list[min(1, len(list)):] {
			if digest(f.get(key)) != digest(list[i].get(key)) {
				return false
			}
		}
	}
	return true
}

// artifact finds the folder that an ArtifactGenerator copies to a path of an artifact, where it copies nothing else there
// (https://fluxcd.io/flux/components/source/artifactgenerators/; internal/builder/builder.go of source-watcher).
func (r *reader) artifact(name, namespace, dir string) fluxSource {
	isNamed := func(a *field) bool { return a.text("name") == name }
	generators := r.nearest(Wanted{Group: "source.extensions.fluxcd.io", Kind: "ArtifactGenerator", Namespace: namespace, Any: true},
		func(f *field) bool { return slices.ContainsFunc(f.elements("spec", "artifacts"), isNamed) })
	if len(generators) != 1 {
		return fluxSource{inside: dir, known: len(generators) == 0}
	}
	generator, says := generators[0], generators[0].get("spec")
	artifacts := generator.elements("spec", "artifacts")
	var out []fluxSource
	for _, c := range artifacts[slices.IndexFunc(artifacts, isNamed)].elements("copy") {
		alias, pattern, _ := strings.Cut(strings.TrimPrefix(c.text("from"), "@"), "/")
		from, all := strings.CutSuffix("/"+pattern, "/**")
		_, to, _ := strings.Cut(c.text("to"), "/")
		to, from = path.Clean("/"+to), path.Clean("/"+from)
		if folder := cmp.Or(from[1:], "."); !all && isKind(r.Tree, folder, tree.Dir) { // copied with its name
			to, all = path.Join(to, path.Base(from)), true
		}
		at := path.Clean("/" + dir)
		rest, whole := strings.CutPrefix(at, strings.TrimSuffix(to, "/"))
		whole = whole && (rest == "" || rest[0] == '/')
		source := fluxSource{}
		for _, s := range generator.elements("spec", "sources") {
			if s.text("alias") == alias && s.text("kind") == "GitRepository" && whole && all && !isPattern(from) && c.text("strategy") != "Extract" {
				source = r.gitRepository(s.text("name"), cmp.Or(s.text("namespace"), namespace), cmp.Or(path.Join(from, rest)[1:], "."))
				source.exclusion.Copied = cmp.Or(from[1:], ".")
			}
		}
		for _, pattern := range c.elements("exclude") {
			_, err := globPattern.compile(pattern.text())
			source.known = source.known && err == nil
			source.exclusion.Except = append(source.exclusion.Except, pattern.text())
		}
		elsewhere := source.repository != "" && !r.ours(source.repository, source.inside)
		if around(strings.TrimSuffix(at, "/"), to) || whole && (!source.known || elsewhere || exists(r.Tree, source.inside)) {
			out = append(out, source)
		}
	}
	if len(out) != 1 {
		return fluxSource{spec: []any{says}}
	}
	out[0].spec = append(out[0].spec, says)
	return out[0]
}

// sameNamespace compares namespaces. An empty one matches any, because the kustomization of the object may set it.
func sameNamespace(a, b string) bool { return a == b || a == "" || b == "" }

// Is reports whether two references are to the same object. Where one has no namespace, its kustomization may set it.
func (r Reference) Is(other Reference) bool {
	return r.Kind == other.Kind && r.Name == other.Name && sameNamespace(r.Namespace, other.Namespace)
}

func valuesOf(f *field) map[string]Value {
	if f == nil || len(f.Keys) == 0 {
		return nil
	}
	m := make(map[string]Value, len(f.Keys))
	for _, k := range f.Keys {
		m[k] = Value{Text: f.text(k), Where: f.Fields[k].position()}
	}
	return m
}

// fluxOverrides turns the fields of a Kustomization into edits of the folder's kustomization.
func (r *reader) fluxOverrides(root, spec *field) Overrides {
	var o Overrides
	o.take(setField, "namespace", spec.get("targetNamespace"), flags{})
	o.take(setField, "namePrefix", spec.get("namePrefix"), flags{})
	o.take(setField, "nameSuffix", spec.get("nameSuffix"), flags{})
	o.take(appendItems, "patches", spec.get("patches"), flags{})
	o.take(appendItems, "components", spec.get("components"), flags{Optional: spec.truth("ignoreMissingComponents")})
	// The two older lists are only in beta versions of the API. They have patches as objects, but a kustomization as text.
	for _, key := range []string{"patchesStrategicMerge", "patchesJson6902"} {
		list := spec.get(key)
		switch version := root.text("apiVersion"); {
		case list == nil:
		case !strings.Contains(version, "beta"):
			r.problem(problemAt(list.position(), Suspicious, "%.80s has no field %s: Flux does not apply these patches. Write them "+
				"under patches", version, key))
		case key == "patchesStrategicMerge":
			o.take(appendItems, key, list.each(encoded), flags{})
		default:
			o.take(appendItems, key, list.each(func(p *field) *field {
				if operations := p.get("patch"); operations != nil && operations.List {
					p = p.with(encoded(operations), "patch")
				}
				return p
			}), flags{})
		}
	}
	o.take(mergeByName, "images", spec.get("images"), flags{})
	return o
}

// encoded writes a value as JSON, which is YAML.
func encoded(v *field) *field {
	data, err := json.Marshal(v.plain())
	if err != nil {
		data = []byte("{}")
	}
	return made(string(data), v.Where)
}

var variableName = regexp.MustCompile(`\A[_[:alpha:]][_[:alpha:][:digit:]]*\z`)

// held returns the fields of a ConfigMap or a Secret with its values; none where these are not readable.
func held(kind string, object *field) []*field {
	readable := object != nil && !object.present("sops")
	if readable && kind == "ConfigMap" {
		return []*field{object.get("data")}
	}
	data := object.get("data").each(func(v *field) *field {
		text, ok := decoded(v)
		readable = readable && ok
		return text
	})
	if readable && kind == "Secret" {
		return []*field{data, object.get("stringData")}
	}
	return nil
}

// substitution collects the variables of postBuild: first those of ConfigMaps and Secrets in order, then those in the object, which
// override them (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution). A variable that a later
// source overrides with a value that is not readable is not known.
func (r *reader) substitution(post *field) Substitution {
	s := Substitution{Variables: map[string]Value{}, Always: post.text("substituteStrategy") == "Always"}
	add := func(f *field) {
		if f == nil {
			return
		}
		for _, k := range f.Keys {
			v := f.Fields[k]
			if !variableName.MatchString(k) {
				r.problem(problemAt(v.position(), Broken, "%.80q is not a valid name of a variable: Flux fails on it", k))
				continue
			}
			s.Variables[k] = Value{Text: strings.ReplaceAll(v.text(), "\n", ""), Where: v.position()}
		}
	}
	for _, from := range post.elements("substituteFrom") {
		kind, name, at := from.text("kind"), from.text("name"), from.position("name")
		list := r.nearest(Wanted{Kind: kind, Namespace: r.object.Namespace, Name: name}, nil)
		found, isMap := first(list), kind == "ConfigMap"
		switch {
		case isMap && !agree(list, contents...):
			for _, f := range list {
				r.also(f.get("data"))
			}
			r.problem(problemAt(at, ClusterOnly, "several ConfigMaps of the repository have the name %q: which of them the "+
				"cluster has is not known", name))
		case agree(list, contents...) && len(held(kind, found)) > 0:
			for _, f := range held(kind, found) {
				add(f)
			}
			continue
		case from.truth("optional") && !(isMap && found != nil):
		case isMap:
			r.also(found)
			p := problemAt(at, ClusterOnly, "the variables of ConfigMap %q are in the cluster, not in the repository", name)
			p.Lacks = found == nil
			r.problem(p)
		default:
			r.also(found)
			r.problem(problemAt(at, ClusterOnly, "the variables of %.40s %q are in the cluster: they are not known before merge",
				kind, name))
		}
		for _, f := range list { // whose keys are readable, also where the values are encrypted
			maps.DeleteFunc(s.Variables, func(k string, _ Value) bool { return f.present("data", k) || f.present("stringData", k) })
		}
		s.Unread = append(s.Unread, at)
	}
	add(post.get("substitute"))
	return s
}

// shared counts the leading folders that the paths of two files have in common.
func shared(a, b string) int {
	as, bs := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return n
}
