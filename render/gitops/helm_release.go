package gitops

import (
	"path"

	"github.com/lintel-bot/lintel/render/tree"
)

// helmRelease reports a release of a chart (https://fluxcd.io/flux/components/helm/helmreleases/). What it reads of
// this repository counts as what it asks for: where the chart comes from, its files, and the values.
func (r *reader) helmRelease(root *field) {
	spec, namespace := root.get("spec"), r.object.Namespace
	if spec.truth("suspend") {
		return // Flux leaves what it deploys alone until somebody resumes it
	}
	if r.Releases {
		r.fluxRelease(root)
		return
	}
	near := root.position("metadata", "name").Path
	at := spec.position("chart", "spec", "chart")
	r.ask(r.object.Name, spec)
	chart := spec.get("chart", "spec")
	if ref := spec.get("chartRef"); ref.present() {
		at = ref.position("name")
		if ref.text("namespace") != "" {
			namespace = ref.text("namespace")
		}
		f, _ := r.nearest(sourceGroup, ref.text("kind"), near, named(ref.text("name"), namespace))
		r.also(f.get("spec"))
		if chart = nil; ref.text("kind") == "HelmChart" {
			chart = f.get("spec")
		}
	}
	if chart != nil {
		r.readsSource(chart, namespace, near)
	}
	for _, from := range spec.elements("valuesFrom") {
		f, _ := r.nearest("", from.text("kind"), near, named(from.text("name"), r.object.Namespace))
		for _, key := range []string{"data", "stringData", "binaryData"} {
			r.also(f.get(key))
		}
	}
	r.problem(problemAt(at, ClusterOnly, "Lintel renders no charts: what this HelmRelease deploys is not checked"))
}

// readsSource adds to what is asked where a chart comes from, and its files where these are of this repository.
func (r *reader) readsSource(chart *field, namespace, near string) {
	dir, ok := tree.Clean(path.Join(".", path.Clean("/" + chart.text("chart"))[1:]))
	from := r.fluxSource(chart.get("sourceRef"), namespace, dir, near)
	r.also(from.says...)
	if !ok || from.packed || !from.known || !r.ours(from.repository, from.inside) || !r.Repo.current(from.revision) {
		return
	}
	r.readsChart(from.inside)
	for _, file := range append(plainTexts(chart.get("valuesFiles")), chart.text("valuesFile")) {
		if clean, ok := tree.Clean(path.Clean("/" + file)[1:]); ok && file != "" {
			r.reads(clean)
		}
	}
}
