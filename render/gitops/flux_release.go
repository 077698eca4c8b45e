package gitops

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// helmRelease reads a HelmRelease (https://fluxcd.io/flux/components/helm/helmreleases/).
func (r *reader) helmRelease(root *field) *Problem {
	spec := root.get("spec")
	r.ask(r.object.Name, spec)
	for _, key := range []*field{root.get("metadata", "name"), spec.get("releaseName"), spec.get("targetNamespace")} {
		if strings.Contains(key.text(), "${") {
			return problemAt(key.position(), ClusterOnly, "the name or namespace of this HelmRelease has a variable "+
				"that nothing in this repository sets: what is deployed is not known")
		}
	}
	out := &Release{Rule: fluxRule, Limits: r.Limits, NameWhere: r.where,
		PostRenderHooks: spec.text("postRenderStrategy") != "nohooks", // the default of Flux 2.9 with Helm 4
		HooksApart:      spec.text("postRenderStrategy") == "separate"}
	for _, from := range spec.elements("valuesFrom") {
		out.Layers = append(out.Layers, r.valuesFrom(from)...)
	}
	if values := spec.get("values"); values.present() {
		out.Layers = append(out.Layers, Layer{Name: specValues, Where: values.position(), Value: values, Variables: true})
	}
	chart, problem := r.fluxChart(spec, out)
	if problem != nil {
		return problem
	}
	at := r.fluxDeployment(root, FluxHelm)
	at.Release, out.Chart, at.PathWhere = out, chart, chart.Named
	if chart.Want.Kind == remote.Chart {
		out.ChartName = cmp.Or(chart.Want.Name, path.Base(chart.Want.URL))
	}
	if chart.Here() {
		r.reads(chart.Folder)
		if problem := r.charted(chart, at); problem != nil {
			return problem
		}
		at.Path = chart.Folder
		file, _ := r.readFile(path.Join(chart.Folder, "Chart.yaml"))
		out.ChartName = first(file).text("name")
		out.reads(r.readsChart(chart.Folder)...)
	}
	namespace := spec.get("targetNamespace").or(root.get("metadata", "namespace"))
	out.Name = shortName(cmp.Or(spec.text("releaseName"),
		strings.TrimPrefix(spec.text("targetNamespace")+"-"+r.object.Name, "-")))
	if name := spec.get("releaseName"); name.text() != "" {
		out.NameWhere = name.position()
	}
	out.Namespace, out.NamespaceWhere = namespace.text(), cmp.Or(namespace.position(), root.position("metadata", "namespace"))
	out.Storage, out.StorageWhere = cmp.Or(spec.text("storageNamespace"), r.object.Namespace), spec.position("storageNamespace")
	out.InPlace = spec.text("upgrade", "chartNameChangeStrategy") == "InPlaceUpdate"
	at.Namespace, at.NamespaceWhere, at.Created = out.Namespace, out.NamespaceWhere, fluxNamespace(spec)
	upgrade := spec.text("upgrade", "crds")
	out.KeepCRDs = upgrade != "Create" && upgrade != "CreateReplace"
	out.SkipCRDs = out.KeepCRDs && (spec.text("install", "crds") == "Skip" || spec.truth("install", "skipCRDs") &&
		spec.text("install", "crds") == "")
	out.Hooks = fluxHooks(spec)
	out.SkipSchema = spec.truth("install", "disableSchemaValidation")
	for _, p := range spec.elements("postRenderers") {
		if k := p.get("kustomize"); k.present() {
			out.PostRender = append(out.PostRender, r.fluxPatches(root, k))
		}
	}
	if at.Metadata.Labels == nil {
		at.Metadata.Labels = map[string]Value{}
	}
	// Flux adds labels to all resources of a release, over commonMetadata.
	at.Metadata.Labels[helmGroup+"/name"] = Value{r.object.Name, at.Where}
	if r.object.Namespace != "" { // otherwise the root that deploys the object sets it
		at.Metadata.Labels[helmGroup+"/namespace"] = Value{r.object.Namespace, root.position("metadata", "namespace")}
	}
	at.Tracking = tracking(out, at.Where)
	r.found = append(r.found, at)
	return nil
}

// releaseName is the annotation with the release that an object belongs to.
const releaseName = "meta.helm.sh/release-name"

// tracking returns what Helm adds to the objects of a release (helm.sh/helm/v4/pkg/action, setMetadataVisitor).
func tracking(release *Release, at Position) Metadata {
	out := Metadata{Labels: map[string]Value{"app.kubernetes.io/managed-by": {"Helm", at}},
		Annotations: map[string]Value{releaseName: {release.Name, release.NameWhere}}}
	if release.Namespace != "" { // otherwise the root that deploys the object sets it
		out.Annotations["meta.helm.sh/release-namespace"] = Value{release.Namespace, release.NamespaceWhere}
	}
	return out
}

// fluxPatches returns the edits of a post renderer, whose fields are also those of a Kustomization.
func (r *reader) fluxPatches(root, k *field) Overrides {
	only := &field{Fields: map[string]*field{}, Where: k.Where}
	for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902", "images"} {
		if v := k.get(key); v != nil {
			only.put(key, v)
		}
	}
	return r.fluxOverrides(root, only)
}

// source finds the source object of a chart. Several that are equally near are fine if they have the same spec.
func (r *reader) source(ref *field, namespace string) (*field, *Problem) {
	kind, name := ref.text("kind"), ref.text("name")
	list := r.nearest(Wanted{Group: sourceGroup, Kind: kind, Namespace: cmp.Or(ref.text("namespace"), namespace), Name: name}, nil)
	found := first(list)
	if r.also(found.get("spec")); found == nil {
		return nil, lacking(ref.position("name"), "no %.40s of this repository has the name %q: where the "+
			"chart comes from is not known", kind, name)
	}
	if !agree(list, "spec") {
		return nil, problemAt(ref.position("name"), ClusterOnly, "several objects %.40s of this repository have the name "+
			"%q: which of them the cluster has is not known", kind, name)
	}
	return found, nil
}

// fluxChart finds the chart of a HelmRelease.
func (r *reader) fluxChart(spec *field, out *Release) (Chart, *Problem) {
	namespace, chart, ref := r.object.Namespace, spec.get("chart", "spec"), spec.get("chartRef")
	if ref.present() {
		f, problem := r.source(ref, namespace)
		switch kind := ref.text("kind"); {
		case problem != nil:
			return Chart{}, problem
		case kind == "OCIRepository":
			return r.ociRepository(ref, f.get("spec"))
		case kind != "HelmChart":
			return Chart{}, problemAt(ref.position("kind"), ClusterOnly, "the chart is an artifact of %.40s %q, "+
				"which is built outside this repository: what is deployed from it is not checked", kind, ref.text("name"))
		}
		chart, namespace = f.get("spec"), cmp.Or(ref.text("namespace"), namespace)
	} else if !chart.present() {
		return Chart{}, problemAt(spec.position(), Broken, "this HelmRelease names no chart")
	}
	return r.helmChart(chart, namespace, out)
}

// unsettled returns a problem for the first field that still contains a variable.
func unsettled(fields ...*field) *Problem {
	for _, f := range fields {
		if strings.Contains(f.text(), "${") {
			return problemAt(f.position(), ClusterOnly, "the chart depends on a variable that nothing in this "+
				"repository sets: what is deployed is not known")
		}
	}
	return nil
}

// ociRepository reads the chart in an OCIRepository
// (https://fluxcd.io/flux/components/source/ocirepositories/#reference).
func (r *reader) ociRepository(named, spec *field) (Chart, *Problem) {
	url, ref := spec.get("url"), spec.get("ref")
	c := Chart{Named: named.position("name"), Source: spec.position("url"), Where: spec.position("url"),
		Want: remote.Want{Kind: remote.Chart, URL: strings.TrimSuffix(url.text(), "/")}}
	problem := unsettled(url, ref.get("digest"), ref.get("semver"), ref.get("semverFilter"), ref.get("tag"))
	switch {
	case problem != nil:
	case url.text() == "":
		problem = problemAt(spec.position(), Broken, "this OCIRepository has no url")
	case ref.text("digest") != "":
		c.Want.Ref, c.Where = ref.text("digest"), ref.position("digest")
	case ref.text("semver") != "":
		c.Want.Ref, c.Want.Filter = remote.Versions+ref.text("semver"), ref.text("semverFilter")
		c.Where = ref.position("semver")
	default:
		c.Want.Ref, c.Want.Tag = cmp.Or(ref.text("tag"), "latest"), true
		if ref.text("tag") != "" {
			c.Where = ref.position("tag")
		}
	}
	return c, problem
}

// newest normalizes a range of versions: the range "*" becomes empty.
func newest(version string) string {
	if version == "*" {
		return ""
	}
	return version
}

// helmChart reads the chart that the spec of a HelmChart, or of a HelmRelease, names
// (https://fluxcd.io/flux/components/source/helmcharts/).
func (r *reader) helmChart(chart *field, namespace string, out *Release) (c Chart, problem *Problem) {
	ref := chart.get("sourceRef")
	if !ref.present("name") {
		return c, problemAt(chart.position("sourceRef", "name"), Broken, "this chart names no source")
	}
	if problem := unsettled(chart.get("chart"), chart.get("version"), ref.get("name")); problem != nil {
		return c, problem
	}
	switch kind := ref.text("kind"); kind {
	case "HelmRepository":
		c, problem = r.helmRepository(chart, namespace)
	case "GitRepository", "ExternalArtifact", "":
		c, problem = r.gitChart(chart, namespace)
	case "Bucket":
		problem = problemAt(ref.position("name"), ClusterOnly, "the chart is in the Bucket %q, which Lintel does not read: "+
			"what is deployed from it is not checked", ref.text("name"))
	default:
		problem = problemAt(ref.position("kind"), Broken, "a chart cannot come from %.40q", kind)
	}
	if problem != nil {
		return c, problem
	}
	files := chart.elements("valuesFiles")
	if file := chart.get("valuesFile"); file.text() != "" {
		files = append([]*field{file}, files...)
	}
	for _, file := range files {
		if problem := unsettled(file); problem != nil {
			return c, problem
		}
		l := Layer{Name: file.text(), Where: file.position(), Want: c.Want, File: valuesPath(file),
			Optional: chart.truth("ignoreMissingValuesFiles")}
		switch left := slices.Contains(c.Lacks, l.File); {
		case left && l.Optional:
			continue
		case left:
			l.Broken = fmt.Sprintf("the source of the chart excludes the values file %s", l.File)
		}
		if c.Here() {
			r.reads(l.File)
			out.reads(l.File)
		}
		out.Defaults = append(out.Defaults, l)
	}
	return c, nil
}

// valuesPath returns the path of a values file in the source of a chart. Flux joins it below the top. An empty name gives
// the top itself, which is not a file.
func valuesPath(file *field) string {
	return cmp.Or(strings.TrimPrefix(path.Clean("/"+file.text()), "/"), ".")
}

// helmRepository reads a chart in a HelmRepository.
func (r *reader) helmRepository(chart *field, namespace string) (c Chart, _ *Problem) {
	f, problem := r.source(chart.get("sourceRef"), namespace)
	if problem == nil {
		problem = unsettled(f.get("spec", "url"))
	}
	if problem != nil {
		return c, problem
	}
	url := strings.TrimSuffix(f.text("spec", "url"), "/")
	if url == "" {
		return c, problemAt(f.position("spec"), Broken, "this HelmRepository has no url")
	}
	c = Chart{Named: chart.position("chart"), Where: chart.position("chart"), Source: f.position("spec", "url"),
		Want: remote.Want{Kind: remote.Chart, URL: url, Name: chart.text("chart"), Ref: newest(chart.text("version"))}}
	if strings.HasPrefix(url, "oci://") {
		c.Want.URL, c.Want.Name = url+"/"+strings.Trim(chart.text("chart"), "/"), ""
	}
	if chart.present("version") {
		c.Where = chart.position("version")
	}
	return c, nil
}

// gitChart finds a chart in the files of a source.
func (r *reader) gitChart(chart *field, namespace string) (Chart, *Problem) {
	ref, at := chart.get("sourceRef"), chart.position("sourceRef", "name")
	c := Chart{Named: chart.position("chart"), Where: chart.position("chart")}
	dir, _ := tree.Clean(cmp.Or(path.Clean("/" + chart.text("chart"))[1:], "."))
	from := r.fluxSource(ref, namespace, dir)
	r.also(from.spec...)
	switch dir = from.inside; {
	case from.several && ref.text("kind") == "GitRepository":
		_, problem := r.source(ref, namespace)
		return c, problem
	case !from.known || from.packed:
		return c, problemAt(at, ClusterOnly, "the artifact that the chart comes from holds no single "+
			"folder of this repository at its path: what is deployed from it is not known")
	case !from.missing && r.ours(from.repository, dir) && r.Repo.Current(from.revision):
		if isKind(r.Tree, dir, tree.File) {
			r.reads(dir)
			return c, problemAt(c.Named, ClusterOnly, "the chart is a packaged chart (.tgz) of this repository, which Lintel does not "+
				"read: what is deployed from it is not checked")
		}
		c.Folder = dir
		a := newArtifact(r.Tree, from.exclusion)
		if p := path.Join(dir, "Chart.yaml"); a.leaves(p) {
			return c, problemAt(at, Broken, "the source of the chart excludes %s: Flux has nothing to render from it", p)
		}
		for _, folder := range r.readsChart(c.Folder) {
			c.Lacks = append(c.Lacks, a.left(folder, r.Options)...)
		}
		for _, file := range append(chart.elements("valuesFiles"), chart.get("valuesFile")) {
			if p := valuesPath(file); a.leaves(p) {
				c.Lacks = append(c.Lacks, p)
			}
		}
		return c, nil
	case from.repository == "":
		return c, lacking(at, "no GitRepository of this repository has the name %q: where "+
			"the chart comes from is not known", ref.text("name"))
	case strings.Contains(from.repository+from.revision, "${"):
		return c, problemAt(at, ClusterOnly, "the repository of the chart depends on a variable that nothing in this "+
			"repository sets: what is deployed is not known")
	}
	c.Folder, c.Want = dir, from.want()
	if from.where.Path != "" { // the version of the chart is that of its repository
		c.Where, c.Source = from.where, from.address
	}
	return c, nil
}

// valuesFrom reads one reference to values (https://fluxcd.io/flux/components/helm/helmreleases/#values-references).
func (r *reader) valuesFrom(from *field) []Layer {
	kind, name, key := from.text("kind"), from.text("name"), cmp.Or(from.text("valuesKey"), "values.yaml")
	l := Layer{Name: kind + " " + name, Where: from.position("name"), Set: from.text("targetPath"), Variables: true,
		First: true}
	switch {
	case l.Set != "" && from.truth("literal"):
		l.Kind = literalLayer
	case l.Set != "":
		l.Kind = fluxLayer
	}
	if kind != "ConfigMap" && kind != "Secret" {
		l.Broken = fmt.Sprintf("Flux takes values from a ConfigMap or a Secret, not from %.40q", kind)
		return []Layer{l}
	}
	var list []*field
	for _, of := range holders(kind) { // a cluster makes Secrets of the same name from the other kinds
		if len(list) == 0 {
			list = r.nearest(Wanted{Group: declaringGroups[of], Kind: of, Namespace: r.object.Namespace, Name: name}, nil)
		}
	}
	found := first(list)
	for _, holder := range []string{"data", "stringData"} {
		for _, f := range list {
			r.also(f.get(holder))
		}
	}
	value := found.get("data", key)
	secret := kind == "Secret"
	if text := found.get("stringData", key); secret && text != nil {
		value, secret = text, false
	}
	switch {
	case strings.Contains(name, "${"):
		l.Unknown = fmt.Sprintf("the name of the %s depends on a variable", kind)
	case found == nil && from.truth("optional"):
		r.problem(problemAt(l.Where, Suspicious, "the optional %s %q is not in this repository: it counts as absent", kind, name))
		return nil
	case found == nil:
		l.Unknown, l.Lacks = fmt.Sprintf("the %s %s is not in this repository", kind, name), true
	case !agree(list, contents...):
		for _, f := range list {
			l.Matched = digest(l.Matched, f.get("data"), f.get("stringData"), f.get("sops"))
		}
		l.Unknown = fmt.Sprintf("several objects %s of this repository have the name %s", kind, name)
	case found.text("kind") != kind:
		spec := found.get("spec")
		l.Matched = digest(spec.get("encryptedData", key), spec.get("template"), spec.get("data"), spec.get("dataFrom"), spec.get("target"))
		l.Unknown = fmt.Sprintf("the cluster makes the %s %s from the %s", kind, name, found.text("kind"))
	case found.present("sops"):
		l.Matched = digest(key, found.get("data", key), found.get("stringData", key))
		l.Unknown = fmt.Sprintf("the %s %s is encrypted", kind, name)
	case value == nil && from.truth("optional"):
		return nil
	case value == nil:
		l.Broken = fmt.Sprintf("the %s %q has no key %q: Flux fails on it", kind, name, key)
	case secret:
		text, ok := decoded(value)
		if !ok {
			l.Broken = fmt.Sprintf("the data of the Secret %q is not written in base64", name)
			break
		}
		l.Value = text
	default:
		l.Value = value
	}
	if l.Kind != mergeLayer && l.Value != nil {
		l.Where = l.Value.position()
		if reason := variableIn(l.Value.text()); reason != "" {
			l.Unsure = reason
		}
	}
	return []Layer{l}
}
