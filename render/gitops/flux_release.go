package gitops

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// fluxRelease reads a release of a chart (https://fluxcd.io/flux/components/helm/helmreleases/).
func (r *reader) fluxRelease(root *field) {
	spec := root.get("spec")
	near := root.position("metadata", "name").Path
	r.ask(r.object.Name, spec)
	for _, key := range []*field{root.get("metadata", "name"), spec.get("releaseName"), spec.get("targetNamespace")} {
		if strings.Contains(key.text(), "${") {
			r.problem(problemAt(key.position(), ClusterOnly, "the name or the namespace of this HelmRelease has a variable "+
				"that nothing of this repository puts a value in for: what is deployed is not known"))
			return
		}
	}
	out := &Release{rule: fluxRule, limits: r.Limits, NameWhere: root.position("metadata", "name"),
		PostRenderHooks: spec.text("postRenderStrategy") != "" && spec.text("postRenderStrategy") != "nohooks"}
	at := Deployment{
		Kind: FluxHelm, Path: near, Object: r.object, Name: r.object.Name, Where: root.position("metadata", "name"),
		Release: out,
	}
	chart, ok := r.fluxChart(root, near, out)
	if !ok {
		return
	}
	out.Chart, at.PathWhere = chart, chart.Named
	if chart.Here() {
		if r.reads(chart.Folder); !r.charted(chart, at) {
			return
		}
		at.Path = chart.Folder
		out.reads(r.readsChart(chart.Folder)...)
	}
	namespace := spec.get("targetNamespace")
	if namespace.text() == "" {
		namespace = root.get("metadata", "namespace")
	}
	out.Name = shortName(cmp.Or(spec.text("releaseName"),
		strings.TrimPrefix(spec.text("targetNamespace")+"-"+r.object.Name, "-")))
	if name := spec.get("releaseName"); name.text() != "" {
		out.NameWhere = name.position()
	}
	out.Namespace, out.NamespaceWhere = namespace.text(), root.position("metadata", "namespace")
	if namespace != nil {
		out.NamespaceWhere = namespace.position()
	}
	at.Namespace, at.NamespaceWhere = out.Namespace, out.NamespaceWhere
	out.SkipCRDs = spec.text("install", "crds") == "Skip" || spec.truth("install", "skipCRDs") &&
		spec.text("install", "crds") == ""
	upgrade := spec.text("upgrade", "crds")
	out.KeepCRDs = upgrade != "Create" && upgrade != "CreateReplace"
	out.SkipSchema = spec.truth("install", "disableSchemaValidation")
	out.SkipTests = true // Flux runs them by itself, if at all
	at.Cluster = cmp.Or(spec.text("kubeConfig", "secretRef", "name"), spec.text("kubeConfig", "configMapRef", "name"),
		clusterFolder(near))
	for _, p := range spec.elements("postRenderers") {
		if k := p.get("kustomize"); k.present() {
			out.PostRender = append(out.PostRender, fluxPatches(k))
		}
	}
	at.Metadata = Metadata{valuesOf(spec.get("commonMetadata", "labels")),
		valuesOf(spec.get("commonMetadata", "annotations"))}
	if at.Metadata.Labels == nil {
		at.Metadata.Labels = map[string]Value{}
	}
	// Flux marks what is of a release, whatever commonMetadata says.
	at.Metadata.Labels[helmGroup+"/name"] = Value{r.object.Name, at.Where}
	at.Metadata.Labels[helmGroup+"/namespace"] = Value{r.object.Namespace, root.position("metadata", "namespace")}
	for _, from := range spec.elements("valuesFrom") {
		out.Layers = append(out.Layers, r.valuesFrom(from, near)...)
	}
	if values := spec.get("values"); values.present() {
		out.Layers = append(out.Layers, Layer{Name: specValues, Where: values.position(), value: values, variables: true})
	}
	r.found = append(r.found, at)
}

// fluxPatches are the fields that a post renderer has in common with a Kustomization.
func fluxPatches(k *field) Overrides {
	only := &field{fields: map[string]*field{}, where: k.where}
	for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902", "images"} {
		if v := k.get(key); v != nil {
			only.put(key, v)
		}
	}
	return fluxOverrides(only)
}

// source finds the object of Flux that a chart comes from. Several that are equally near count as one where they say
// the same.
func (r *reader) source(ref *field, namespace, near string) (found *field, ok bool) {
	kind, name := ref.text("kind"), ref.text("name")
	is := named(name, cmp.Or(ref.text("namespace"), namespace))
	found, ambiguous := r.nearest(sourceGroup, kind, near, is)
	if r.also(found.get("spec")); found == nil {
		r.problem(problemAt(ref.position("name"), ClusterOnly, "no %.40s of this repository has the name %q: where the chart "+
			"comes from is not known", kind, name))
		return nil, false
	}
	if ambiguous {
		best := shared(found.position("metadata", "name").Path, near)
		for _, f := range r.byKind[kind] {
			if f.group() == sourceGroup && is(f) && shared(f.position("metadata", "name").Path, near) == best &&
				digest(f.get("spec")) != digest(found.get("spec")) {
				r.problem(problemAt(ref.position("name"), ClusterOnly, "several objects %.40s of this repository have the name "+
					"%q: which of them the cluster has is not known", kind, name))
				return nil, false
			}
		}
	}
	return found, true
}

// fluxChart finds where the chart of a HelmRelease is.
func (r *reader) fluxChart(root *field, near string, out *Release) (c Chart, ok bool) {
	spec, namespace := root.get("spec"), r.object.Namespace
	if ref := spec.get("chartRef"); ref.present() {
		f, found := r.source(ref, namespace, near)
		switch {
		case !found:
			return c, false
		case ref.text("kind") == "OCIRepository":
			return r.ociRepository(ref, f)
		case ref.text("kind") == "HelmChart":
			return r.helmChart(f.get("spec"), cmp.Or(ref.text("namespace"), namespace), near, out)
		}
		r.problem(problemAt(ref.position("kind"), ClusterOnly, "the chart is an artifact of %.40s %q, which is packed "+
			"elsewhere: what is deployed from it is not checked", ref.text("kind"), ref.text("name")))
		return c, false
	}
	if !spec.present("chart", "spec") {
		r.problem(problemAt(spec.position(), Broken, "this HelmRelease names no chart"))
		return c, false
	}
	return r.helmChart(spec.get("chart", "spec"), namespace, near, out)
}

// substituted reports whether nobody is left to put a value in for a variable of some fields, and has a problem where
// somebody is.
func (r *reader) settledTexts(fields ...*field) bool {
	for _, f := range fields {
		if strings.Contains(f.text(), "${") {
			r.problem(problemAt(f.position(), ClusterOnly, "the chart depends on a variable that nothing of this repository puts "+
				"a value in for: what is deployed is not known"))
			return false
		}
	}
	return true
}

// ociRepository reads where a chart of a registry is
// (https://fluxcd.io/flux/components/source/ocirepositories/#reference).
func (r *reader) ociRepository(named, f *field) (Chart, bool) {
	spec, ref := f.get("spec"), f.get("spec", "ref")
	c := Chart{Named: named.position("name"), Source: spec.position("url"),
		Want: remote.Want{Kind: remote.Chart, URL: strings.TrimSuffix(spec.text("url"), "/")}}
	if !r.settledTexts(spec.get("url"), ref.get("digest"), ref.get("semver"), ref.get("tag")) {
		return c, false
	}
	switch c.Where = spec.position("url"); {
	case spec.text("url") == "":
		r.problem(problemAt(spec.position(), Broken, "this OCIRepository has no url"))
		return c, false
	case ref.text("digest") != "":
		c.Want.Ref, c.Where = ref.text("digest"), ref.position("digest")
	case ref.text("semver") != "" && ref.text("semverFilter") != "":
		r.problem(problemAt(ref.position("semverFilter"), ClusterOnly, "which of the tags are left once they are filtered is "+
			"known in the cluster only: what is deployed is not checked"))
		return c, false
	case ref.text("semver") != "":
		c.Want.Ref, c.Where = newest(ref.text("semver")), ref.position("semver")
	default:
		c.Want.Ref, c.Want.Tag = cmp.Or(ref.text("tag"), "latest"), true
		if ref.text("tag") != "" {
			c.Where = ref.position("tag")
		}
	}
	return c, true
}

// newest is a range of versions; the one that has all is empty.
func newest(version string) string {
	if version == "*" {
		return ""
	}
	return version
}

// helmChart reads where a chart is, as a HelmChart or a HelmRelease says
// (https://fluxcd.io/flux/components/source/helmcharts/).
func (r *reader) helmChart(chart *field, namespace, near string, out *Release) (c Chart, ok bool) {
	ref := chart.get("sourceRef")
	c = Chart{Named: chart.position("chart"), Where: chart.position("chart")}
	if !r.settledTexts(chart.get("chart"), chart.get("version"), ref.get("name")) {
		return c, false
	}
	switch kind := ref.text("kind"); kind {
	case "HelmRepository":
		f, found := r.source(ref, namespace, near)
		if !found || !r.settledTexts(f.get("spec", "url")) {
			return c, false
		}
		url := strings.TrimSuffix(f.text("spec", "url"), "/")
		c.Source = f.position("spec", "url")
		c.Want = remote.Want{Kind: remote.Chart, URL: url, Name: chart.text("chart"), Ref: newest(chart.text("version"))}
		if strings.HasPrefix(url, "oci://") {
			c.Want.URL, c.Want.Name = url+"/"+strings.Trim(chart.text("chart"), "/"), ""
		}
		if chart.present("version") {
			c.Where = chart.position("version")
		}
	case "GitRepository", "ExternalArtifact", "":
		if c, ok = r.gitChart(chart, namespace, near, c); !ok {
			return c, false
		}
	case "Bucket":
		r.problem(problemAt(ref.position("name"), ClusterOnly, "the chart is in the Bucket %q, which Lintel does not read: "+
			"what is deployed from it is not checked", ref.text("name")))
		return c, false
	default:
		r.problem(problemAt(ref.position("kind"), Broken, "a chart cannot come from %.40q", kind))
		return c, false
	}
	files := chart.elements("valuesFiles")
	if file := chart.get("valuesFile"); file.text() != "" {
		files = append([]*field{file}, files...)
	}
	for _, file := range files {
		l := Layer{Name: file.text(), Where: file.position(), Want: c.Want,
			optional: chart.truth("ignoreMissingValuesFiles")}
		l.File = strings.TrimPrefix(path.Clean("/"+file.text()), "/") // below the top of the source, wherever it points
		if c.Here() {
			r.reads(l.File)
			out.reads(l.File)
		}
		out.Defaults = append(out.Defaults, l)
	}
	return c, true
}

// gitChart finds a chart in the files of a source.
func (r *reader) gitChart(chart *field, namespace, near string, c Chart) (Chart, bool) {
	ref := chart.get("sourceRef")
	dir, _ := tree.Clean(cmp.Or(path.Clean("/" + chart.text("chart"))[1:], "."))
	from := r.fluxSource(ref, namespace, dir, near)
	r.also(from.says...)
	dir = from.inside
	switch {
	case !from.known || from.packed:
		r.problem(problemAt(orAt(ref.position("name"), c.Named), ClusterOnly, "the artifact that the chart comes from holds no single folder "+
			"of this repository at its path: what is deployed from it is not known"))
		return c, false
	case r.ours(from.repository, dir) && r.Repo.current(from.revision):
		if isKind(r.Tree, dir, tree.File) {
			r.reads(dir)
			r.problem(problemAt(c.Named, ClusterOnly, "the chart is a packed file of this repository, which Lintel does not "+
				"read: what is deployed from it is not checked"))
			return c, false
		}
		c.Folder = resolved(r.Tree, dir)
		return c, true
	case from.repository == "":
		r.problem(problemAt(orAt(ref.position("name"), c.Named), ClusterOnly, "no GitRepository of this repository has the name %q: where "+
			"the chart comes from is not known", ref.text("name")))
		return c, false
	case strings.Contains(from.repository+from.revision, "${"):
		r.problem(problemAt(orAt(ref.position("name"), c.Named), ClusterOnly, "the repository of the chart depends on a variable that nothing "+
			"of this repository puts a value in for: what is deployed is not known"))
		return c, false
	}
	c.Folder = dir
	c.Want = remote.Want{Kind: remote.Git, URL: from.repository, Ref: from.revision, Submodules: from.submodules}
	if from.semver {
		c.Want.Ref = "semver:" + from.revision
	}
	return c, true
}

// valuesFrom reads one reference to values (https://fluxcd.io/flux/components/helm/helmreleases/#values-references).
func (r *reader) valuesFrom(from *field, near string) []Layer {
	kind, name, key := from.text("kind"), from.text("name"), cmp.Or(from.text("valuesKey"), "values.yaml")
	l := Layer{Name: kind + " " + name, Where: from.position("name"), path: from.text("targetPath"), variables: true,
		first: true}
	switch {
	case l.path != "" && from.truth("literal"):
		l.kind = literalLayer
	case l.path != "":
		l.kind = fluxLayer
	}
	if kind != "ConfigMap" && kind != "Secret" {
		l.broken = fmt.Sprintf("Flux takes values from a ConfigMap or a Secret, not from %.40q", kind)
		return []Layer{l}
	}
	found, ambiguous := r.nearest("", kind, near, named(name, r.object.Namespace))
	for _, holder := range []string{"data", "stringData"} {
		r.also(found.get(holder))
	}
	value := found.get("data", key)
	secret := kind == "Secret"
	if text := found.get("stringData", key); secret && text != nil {
		value, secret = text, false
	}
	switch {
	case strings.Contains(name, "${"):
		l.Unknown = fmt.Sprintf("the name of the %s depends on a variable", kind)
	case found == nil:
		l.Unknown = fmt.Sprintf("the %s %s is not in this repository", kind, name)
	case ambiguous && r.differ(kind, name, near):
		l.Unknown = fmt.Sprintf("several objects %s of this repository have the name %s", kind, name)
	case found.present("sops"):
		l.Unknown = fmt.Sprintf("the %s %s is encrypted", kind, name)
	case value == nil && from.truth("optional"):
		return nil
	case value == nil:
		l.broken = fmt.Sprintf("the %s %q has no key %q: Flux fails on it", kind, name, key)
	case secret:
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value.text()), ""))
		if err != nil {
			l.broken = fmt.Sprintf("the data of the Secret %q is not written in base64", name)
			break
		}
		// Its lines are not those of the file.
		at := value.position()
		at.EndLine = 0
		l.value = made(string(data), func() Position { return at })
	default:
		l.value = value
	}
	if l.kind != mergeLayer && l.value != nil {
		l.Where = l.value.position()
		if reason := variableIn(l.value.text()); reason != "" {
			l.unsure = reason
		}
	}
	return []Layer{l}
}

// differ reports whether the nearest objects of a name hold different things.
func (r *reader) differ(kind, name, near string) bool {
	best, seen := -1, []string{}
	for _, f := range r.byKind[kind] {
		if f.group() != "" || !named(name, r.object.Namespace)(f) {
			continue
		}
		n := shared(f.position("metadata", "name").Path, near)
		if n > best {
			best, seen = n, nil
		}
		if n == best {
			seen = append(seen, digest(f.get("data"), f.get("stringData"), f.get("sops")))
		}
	}
	slices.Sort(seen)
	return len(slices.Compact(seen)) > 1
}

// orAt is a place, or another one where there is none.
func orAt(at, other Position) Position {
	if at.Path == "" {
		return other
	}
	return at
}
