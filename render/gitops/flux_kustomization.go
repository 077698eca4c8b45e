package gitops

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

const (
	fluxGroup   = "kustomize.toolkit.fluxcd.io"
	helmGroup   = "helm.toolkit.fluxcd.io"
	sourceGroup = "source.toolkit.fluxcd.io"
)

// fluxKustomization reads one Kustomization of Flux (https://fluxcd.io/flux/components/kustomize/kustomizations/).
func (r *reader) fluxKustomization(root *field) {
	spec := root.get("spec")
	if spec.truth("suspend") {
		return // Flux leaves what it deploys alone until somebody resumes it
	}
	object := r.object
	at := spec.position("path")
	// Flux joins the path below the source's root, wherever it points.
	dir, ok := tree.Clean(strings.TrimLeft(path.Clean("/"+spec.text("path")), "/"))
	if dir == "" || !ok {
		dir = "."
	}
	if strings.Contains(dir, "${") {
		r.problem(problemAt(at, ClusterOnly, "the path has a variable that another Kustomization substitutes: what is "+
			"deployed from it is not known"))
		return
	}
	for _, key := range []string{"targetNamespace", "namePrefix", "nameSuffix"} {
		if strings.Contains(spec.text(key), "${") {
			r.problem(problemAt(spec.position(key), ClusterOnly, "%s has a variable that another Kustomization substitutes: "+
				"what is deployed is not known", key))
		}
	}
	near := root.position("metadata", "name").Path
	from := r.fluxSource(spec.get("sourceRef"), object.Namespace, dir, near)
	r.ask(object.Name, spec)
	r.also(from.says...)
	switch {
	case from.packed:
		r.problem(problemAt(spec.position("sourceRef", "name"), ClusterOnly, "the source is %.40s %q, an artifact that is "+
			"packed elsewhere: what is deployed from it is not checked", spec.text("sourceRef", "kind"),
			spec.text("sourceRef", "name")))
		return
	case !from.known:
		r.problem(problemAt(spec.position("sourceRef"), ClusterOnly, "the artifact that Kustomization %q reads holds no "+
			"single folder of this repository at its path: what is deployed from it is not known", object.Name))
		return
	}
	d := Deployment{Path: near}
	asked := spec.position("sourceRef", "name")
	switch dir = from.inside; {
	case !r.ours(from.repository, dir):
		named := cmp.Or(from.repository, strings.TrimSpace(spec.text("sourceRef", "kind")+" "+spec.text("sourceRef", "name")))
		if !r.fluxElsewhere(&d, from, asked, elsewhereWords(named)) {
			r.elsewhere(asked, named)
			return
		}
	case !r.Repo.current(from.revision):
		if !r.fluxElsewhere(&d, from, asked, anotherWords(from.revision)) {
			r.another(asked, from.revision)
			return
		}
	case !isKind(r.Tree, dir, tree.Dir):
		r.problem(problemAt(at, Broken, "the path of Kustomization %q is not a folder of this repository", object.Name))
		return
	default:
		d.Path = resolved(r.Tree, dir)
	}
	d = Deployment{
		Kind: Flux, Path: d.Path, Elsewhere: d.Elsewhere, Object: object, Name: object.Name,
		Where: root.position("metadata", "name"), PathWhere: at,
		Metadata: Metadata{valuesOf(spec.get("commonMetadata", "labels")),
			valuesOf(spec.get("commonMetadata", "annotations"))},
	}
	d.Cluster = cmp.Or(spec.text("kubeConfig", "secretRef", "name"), spec.text("kubeConfig", "configMapRef", "name"),
		clusterFolder(near))
	d.Overrides = fluxOverrides(spec)
	if post := spec.get("postBuild"); post.present() {
		d.Substitute = r.substitution(post, object.Namespace, near)
	}
	r.found = append(r.found, d)
}

// clusterFolder returns the folder after "clusters", where Flux' guide has one for each cluster
// (https://fluxcd.io/flux/guides/repository-structure/).
func clusterFolder(p string) string {
	parts := strings.Split(p, "/")
	if i := slices.Index(parts, "clusters"); i >= 0 && i+2 < len(parts) {
		return parts[i+1]
	}
	return ""
}

// fluxSource is where a Kustomization of Flux, or the chart of a HelmRelease, comes from.
type fluxSource struct {
	repository string   // its address; empty where no object here says it: bootstrap writes it to the cluster
	revision   string   // of it, empty for the default branch
	inside     string   // the folder in it
	known      bool     // whether that is known
	packed     bool     // an artifact that is no repository
	submodules bool     // of the repository are part of it
	semver     bool     // revision is a range of versions
	missing    bool     // no object of this repository has the name
	where      Position // what chooses the revision, else what says the address
	address    Position // what says the address
	says       []any    // what says so
}

// fluxSource reads what a reference leads to.
func (r *reader) fluxSource(ref *field, namespace, dir, near string) fluxSource {
	name, kind := ref.text("name"), ref.text("kind")
	namespace = cmp.Or(ref.text("namespace"), namespace)
	switch kind {
	case "", "GitRepository":
		return r.gitRepository(name, namespace, dir, near)
	case "ExternalArtifact":
		return r.artifact(name, namespace, dir, near)
	}
	f, _ := r.nearest(sourceGroup, kind, near, named(name, namespace))
	return fluxSource{packed: true, says: []any{f.get("spec")}}
}

func (r *reader) gitRepository(name, namespace, dir, near string) fluxSource {
	f, _ := r.nearest(sourceGroup, "GitRepository", near, named(name, namespace))
	return fluxSource{repository: f.text("spec", "url"), revision: revisionOf(f.get("spec", "ref")), inside: dir,
		known: true, says: []any{f.get("spec")}, where: revisionWhere(f.get("spec")), address: f.position("spec", "url"),
		submodules: f.truth("spec", "recurseSubmodules"), missing: f == nil,
		semver: f.text("spec", "ref", "semver") != "" && f.text("spec", "ref", "commit")+f.text("spec", "ref", "name") == ""}
}

// revisionOf returns what the ref of a GitRepository comes to
// (https://fluxcd.io/flux/components/source/gitrepositories/#reference).
func revisionOf(ref *field) string {
	if tag := ref.text("tag"); tag != "" && ref.text("commit")+ref.text("name")+ref.text("semver") == "" {
		return "refs/tags/" + tag
	}
	return cmp.Or(ref.text("commit"), ref.text("name"), ref.text("semver"), ref.text("branch"))
}

// revisionWhere is where the spec of a GitRepository says that, else where it has the address.
func revisionWhere(spec *field) Position {
	for _, key := range []string{"commit", "name", "semver", "tag", "branch"} {
		if spec.text("ref", key) != "" {
			return spec.position("ref", key)
		}
	}
	return spec.position("url")
}

func named(name, namespace string) func(*field) bool {
	return func(f *field) bool {
		return f.text("metadata", "name") == name && sameNamespace(f.text("metadata", "namespace"), namespace)
	}
}

// nearest finds an object of the repository. Of several, as clusters have them, it is the one whose file is nearest
// to the file that names it; several that are equally near are ambiguous.
func (r *reader) nearest(group, kind, near string, is func(*field) bool) (found *field, ambiguous bool) {
	best := -1
	for _, f := range r.byKind[kind] {
		if f.group() != group || !is(f) {
			continue
		}
		switch n := shared(f.position("metadata", "name").Path, near); {
		case n > best:
			best, found, ambiguous = n, f, false
		case n == best:
			ambiguous = true
		}
	}
	return found, ambiguous
}

// artifact finds the folder that an ArtifactGenerator copies to a path of an artifact
// (https://fluxcd.io/flux/components/source/artifactgenerators/).
func (r *reader) artifact(name, namespace, dir, near string) fluxSource {
	isNamed := func(a *field) bool { return a.text("name") == name }
	generator, ambiguous := r.nearest("source.extensions.fluxcd.io", "ArtifactGenerator", near, func(f *field) bool {
		return sameNamespace(f.text("metadata", "namespace"), namespace) &&
			slices.ContainsFunc(f.elements("spec", "artifacts"), isNamed)
	})
	if generator == nil || ambiguous {
		return fluxSource{inside: dir, known: !ambiguous}
	}
	says := generator.get("spec")
	artifacts := generator.elements("spec", "artifacts")
	for _, c := range slices.Backward(artifacts[slices.IndexFunc(artifacts, isNamed)].elements("copy")) {
		alias, from, _ := strings.Cut(strings.TrimPrefix(c.text("from"), "@"), "/")
		from, all := strings.CutSuffix(from, "**")
		_, to, _ := strings.Cut(c.text("to"), "/")
		to, from = path.Clean("/"+to), path.Clean("/"+from)
		rest, below := strings.CutPrefix(path.Clean("/"+dir), strings.TrimSuffix(to, "/"))
		if !all || !below || rest != "" && rest[0] != '/' {
			continue
		}
		inside := cmp.Or(strings.Trim(path.Join(from, rest), "/"), ".")
		if !exists(r.Tree, inside) {
			continue
		}
		for _, s := range generator.elements("spec", "sources") {
			if s.text("alias") == alias && s.text("kind") == "GitRepository" {
				from := r.gitRepository(s.text("name"), cmp.Or(s.text("namespace"), namespace), inside, near)
				from.says = append(from.says, says)
				return from
			}
		}
	}
	return fluxSource{says: []any{says}}
}

// sameNamespace takes an object whose file names no namespace for one of any: its kustomization sets it.
func sameNamespace(a, b string) bool { return a == b || a == "" || b == "" }

func valuesOf(f *field) map[string]Value {
	if f == nil || len(f.keys) == 0 {
		return nil
	}
	m := make(map[string]Value, len(f.keys))
	for _, k := range f.keys {
		m[k] = Value{Text: f.text(k), Where: f.fields[k].position()}
	}
	return m
}

// fluxOverrides turns a Kustomization's fields into edits of the folder's kustomization.
func fluxOverrides(spec *field) Overrides {
	var o Overrides
	o.take(setField, "namespace", spec.get("targetNamespace"), flags{})
	o.take(setField, "namePrefix", spec.get("namePrefix"), flags{})
	o.take(setField, "nameSuffix", spec.get("nameSuffix"), flags{})
	o.take(appendItems, "patches", spec.get("patches"), flags{})
	o.take(appendItems, "components", spec.get("components"), flags{optional: spec.truth("ignoreMissingComponents")})
	// The two older lists hold the patches as values; a kustomization wants them as text.
	if patches := spec.get("patchesStrategicMerge"); len(patches.elements()) > 0 {
		o.add(edit{op: appendItems, key: "patchesStrategicMerge", value: &field{list: true, items: encoded(patches.items),
			where: patches.where}})
	}
	if patches := spec.get("patchesJson6902"); len(patches.elements()) > 0 {
		value := &field{list: true, where: patches.where}
		for _, p := range patches.items {
			if operations := p.get("patch"); operations != nil && operations.list {
				p = p.with(encoded([]*field{operations})[0], "patch")
			}
			value.items = append(value.items, p)
		}
		o.add(edit{op: appendItems, key: "patchesJson6902", value: value})
	}
	o.take(mergeByName, "images", spec.get("images"), flags{})
	return o
}

// encoded writes values as JSON, which is YAML.
func encoded(items []*field) []*field {
	out := make([]*field, len(items))
	for i, item := range items {
		data, err := json.Marshal(item.plain())
		if err != nil {
			data = []byte("{}")
		}
		out[i] = made(string(data), item.where)
	}
	return out
}

var variableName = regexp.MustCompile(`\A[_[:alpha:]][_[:alpha:][:digit:]]*\z`)

// substitution collects the variables of postBuild: those of ConfigMaps in their order, and over them those that
// are written in place (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
func (r *reader) substitution(post *field, namespace, near string) Substitution {
	s := Substitution{Variables: map[string]Value{}, Always: post.text("substituteStrategy") == "Always"}
	add := func(f *field) {
		if f == nil {
			return
		}
		for _, k := range f.keys {
			v := f.fields[k]
			if !variableName.MatchString(k) {
				r.problem(problemAt(v.position(), Broken, "%.80q is not a name of a variable: Flux fails on it", k))
				continue
			}
			s.Variables[k] = Value{Text: strings.ReplaceAll(v.text(), "\n", ""), Where: v.position()}
		}
	}
	for _, from := range post.elements("substituteFrom") {
		kind, name := from.text("kind"), from.text("name")
		at := from.position("name")
		found, ambiguous := r.nearest("", kind, near, named(name, namespace))
		if kind == "ConfigMap" {
			switch {
			case ambiguous:
				r.problem(problemAt(at, ClusterOnly, "several ConfigMaps of the repository have the name %q: which of them the "+
					"cluster has is not known", name))
			case found != nil && !found.present("sops"):
				add(found.get("data"))
				continue
			case found == nil && from.truth("optional"):
			default:
				r.also(found)
				r.problem(problemAt(at, ClusterOnly, "the variables of ConfigMap %q are in the cluster, not in the repository",
					name))
			}
		} else if !from.truth("optional") {
			r.also(found)
			r.problem(problemAt(at, ClusterOnly, "the variables of %.40s %q are in the cluster: they are not known before merge",
				kind, name))
		}
		s.Unread = append(s.Unread, at)
	}
	add(post.get("substitute"))
	return s
}

// shared counts the folders that two files have in common.
func shared(a, b string) int {
	as, bs := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return n
}
