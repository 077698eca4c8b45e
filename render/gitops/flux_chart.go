package gitops

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// source finds the object of Flux that a chart comes from. Several that are equally near count as one where they say
// the same.
func (r *reader) source(ref *field, namespace, near string) (found *field, ok bool) {
	kind, name := ref.text("kind"), ref.text("name")
	is := named(name, cmp.Or(ref.text("namespace"), namespace))
	found, ambiguous := r.nearest(sourceGroup, kind, near, is)
	if r.also(found.get("spec")); found == nil {
		r.problem(problemAt(ref.position("name"), ClusterOnly, "no %.40s of this repository has the name %q: where the "+
			"chart comes from is not known", kind, name))
		return nil, false
	}
	if ambiguous && r.several(kind, near, found, is) {
		r.problem(problemAt(ref.position("name"), ClusterOnly, "several objects %.40s of this repository have the name "+
			"%q: which of them the cluster has is not known", kind, name))
		return nil, false
	}
	return found, true
}

// several reports whether objects that are as near as the one that was found say something else.
func (r *reader) several(kind, near string, found *field, is func(*field) bool) bool {
	best := shared(found.position("metadata", "name").Path, near)
	return slices.ContainsFunc(r.byKind[kind], func(f *field) bool {
		return f.group() == sourceGroup && is(f) && shared(f.position("metadata", "name").Path, near) == best &&
			digest(f.get("spec")) != digest(found.get("spec"))
	})
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

// settledTexts reports whether no field is left with a variable, and has a problem where one is.
func (r *reader) settledTexts(fields ...*field) bool {
	for _, f := range fields {
		if strings.Contains(f.text(), "${") {
			r.problem(problemAt(f.position(), ClusterOnly, "the chart depends on a variable that nothing of this repository "+
				"puts a value in for: what is deployed is not known"))
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
	if !r.settledTexts(spec.get("url"), ref.get("digest"), ref.get("semver"), ref.get("semverFilter"), ref.get("tag")) {
		return c, false
	}
	switch c.Where = spec.position("url"); {
	case spec.text("url") == "":
		r.problem(problemAt(spec.position(), Broken, "this OCIRepository has no url"))
		return c, false
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
	if !ref.present("name") {
		r.problem(problemAt(chart.position("sourceRef", "name"), Broken, "this chart names no source"))
		return c, false
	}
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
		if url == "" {
			r.problem(problemAt(f.position("spec"), Broken, "this HelmRepository has no url"))
			return c, false
		}
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
		if !r.settledTexts(file) {
			return c, false
		}
		// Below the top of the source, wherever it points. What names no file is that top, which is no file either.
		l.File = cmp.Or(strings.TrimPrefix(path.Clean("/"+file.text()), "/"), ".")
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
	ref, at := chart.get("sourceRef"), chart.position("sourceRef", "name")
	dir, _ := tree.Clean(cmp.Or(path.Clean("/" + chart.text("chart"))[1:], "."))
	from := r.fluxSource(ref, namespace, dir, near)
	r.also(from.says...)
	if ref.text("kind") == "GitRepository" && !from.missing {
		if _, ok := r.source(ref, namespace, near); !ok { // several differ
			return c, false
		}
	}
	dir = from.inside
	switch {
	case !from.known || from.packed:
		r.problem(problemAt(at, ClusterOnly, "the artifact that the chart comes from holds no single "+
			"folder of this repository at its path: what is deployed from it is not known"))
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
		r.problem(problemAt(at, ClusterOnly, "no GitRepository of this repository has the name %q: where "+
			"the chart comes from is not known", ref.text("name")))
		return c, false
	case strings.Contains(from.repository+from.revision, "${"):
		r.problem(problemAt(at, ClusterOnly, "the repository of the chart depends on a variable that "+
			"nothing of this repository puts a value in for: what is deployed is not known"))
		return c, false
	}
	c.Folder = dir
	if from.where.Path != "" { // the chart says nothing of the version: its repository does
		c.Where, c.Source = from.where, from.address
	}
	c.Want = remote.Want{Kind: remote.Git, URL: from.repository, Ref: from.revision, Submodules: from.submodules}
	if from.semver {
		c.Want.Ref = remote.Versions + from.revision
	}
	return c, true
}
