package gitops

import (
	"cmp"
	"strings"
)

// helmRelease reads a release of a chart (https://fluxcd.io/flux/components/helm/helmreleases/).
func (r *reader) helmRelease(root *field) *Problem {
	spec := root.get("spec")
	r.ask(r.object.Name, spec)
	for _, key := range []*field{root.get("metadata", "name"), spec.get("releaseName"), spec.get("targetNamespace")} {
		if strings.Contains(key.text(), "${") {
			return problemAt(key.position(), ClusterOnly, "the name or the namespace of this HelmRelease has a variable "+
				"that nothing of this repository puts a value in for: what is deployed is not known")
		}
	}
	out := &Release{rule: fluxRule, limits: r.Limits, NameWhere: r.where,
		PostRenderHooks: spec.text("postRenderStrategy") != "nohooks", // as Helm 4 and Flux 2.9 have it where nothing is said
		HooksApart:      spec.text("postRenderStrategy") == "separate"}
	for _, from := range spec.elements("valuesFrom") {
		out.Layers = append(out.Layers, r.valuesFrom(from)...)
	}
	if values := spec.get("values"); values.present() {
		out.Layers = append(out.Layers, Layer{Name: specValues, Where: values.position(), value: values, variables: true})
	}
	chart, problem := r.fluxChart(spec, out)
	if problem != nil {
		return problem
	}
	at := r.fluxDeployment(root, FluxHelm)
	at.Release, out.Chart, at.PathWhere = out, chart, chart.Named
	if chart.Here() {
		r.reads(chart.Folder)
		if problem := r.charted(chart, at); problem != nil {
			return problem
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
	for _, p := range spec.elements("postRenderers") {
		if k := p.get("kustomize"); k.present() {
			out.PostRender = append(out.PostRender, fluxPatches(k))
		}
	}
	if at.Metadata.Labels == nil {
		at.Metadata.Labels = map[string]Value{}
	}
	// Flux marks what is of a release, whatever commonMetadata says.
	at.Metadata.Labels[helmGroup+"/name"] = Value{r.object.Name, at.Where}
	if r.object.Namespace != "" { // else who applies it decides
		at.Metadata.Labels[helmGroup+"/namespace"] = Value{r.object.Namespace, root.position("metadata", "namespace")}
	}
	r.found = append(r.found, at)
	return nil
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
