package render

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/tree"
)

// askedVersions is what a chart asked about the API versions of its cluster.
type askedVersions struct {
	Versions []string `json:"versions,omitempty"` // sorted
	Listed   bool     `json:"listed,omitempty"`   // it may have read the whole list
}

// add adds what the chart asked in one rendering.
func (a *askedVersions) add(out *helm.Output) {
	a.Versions = slices.Concat(a.Versions, out.Absent, out.Present)
	slices.Sort(a.Versions)
	a.Versions = slices.Compact(a.Versions)
	a.Listed = a.Listed || out.Listed
}

// versionsDeclared is a digest of what the repository declares about the API versions that a chart asked for. API
// versions that the chart itself installs are not in it: the chart's files account for them.
func (r *Renderer) versionsDeclared(a askedVersions) string {
	declared := r.declared()
	if !a.Listed {
		declared = slices.DeleteFunc(slices.Clone(a.Versions), func(version string) bool {
			_, has := slices.BinarySearch(r.declared(), version)
			return !has
		})
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", declared)))
}

// DeclaresOther reports whether two renderers see different API versions, since some changed files of either tree define
// custom resources.
func DeclaresOther(base, head *Renderer, changed []string) bool {
	defines := func(r *Renderer) bool {
		files := r.index.Mentions("CustomResourceDefinition")
		return slices.ContainsFunc(changed, func(p string) bool { return slices.Contains(files, p) })
	}
	return (defines(base) || defines(head)) && !slices.Equal(base.declared(), head.declared())
}

// versions returns the version of Kubernetes and the API versions that a chart sees in a cluster. The API versions are
// those of Kubernetes, those in the settings of the cluster, those that the repository declares, and those that the
// chart installs first. Versions in the object that deploys the release replace those of the cluster.
func (s *release) versions(c Cluster) (kubernetes string, versions []string) {
	kubernetes = cmp.Or(s.spec.Kubernetes, c.Kubernetes)
	if len(s.spec.APIVersions) > 0 {
		return kubernetes, s.spec.APIVersions
	}
	versions = slices.Concat(helm.KubernetesKinds(kubernetes), c.APIVersions, s.renderer.declared())
	if !s.spec.SkipCRDs {
		for _, f := range s.chart.CRDs(s.values.Map) {
			versions = append(versions, crdVersions(f.Data)...)
		}
	}
	slices.Sort(versions)
	return kubernetes, slices.Compact(versions)
}

// findVersions lists the API versions of the custom resource definitions that the repository declares, sorted.
func (r *Renderer) findVersions() (list []string) {
	for _, p := range r.index.Mentions("CustomResourceDefinition") {
		if !r.index.Manifest(p) {
			continue
		}
		_, e, err := r.tree.Lookup(p)
		if err != nil || e.Kind != tree.File {
			continue
		}
		known, ok := env.Get[[]string](r.cache.Memory(), definitionsTable, e.ID, nil)
		if !ok {
			data, _, err := r.tree.ReadFile(p)
			if err != nil {
				continue // another check reports the file
			}
			known = crdVersions(data)
			env.Put(r.cache.Memory(), definitionsTable, e.ID, nil, known)
		}
		list = append(list, known...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// crdVersions lists what the custom resource definitions in a file add to the API versions of a cluster.
func crdVersions(data []byte) (list []string) {
	if !bytes.Contains(data, []byte("CustomResourceDefinition")) {
		return nil
	}
	documents, err := doc.Parse("", shallow(data), doc.Limits{})
	if err != nil {
		if documents, err = doc.Parse("", data, doc.Limits{}); err != nil {
			return nil
		}
	}
	for n := range doc.Objects(documents) {
		if doc.Text(n, "kind") == "CustomResourceDefinition" {
			list = append(list, definedVersions(n)...)
		}
	}
	return list
}

// shallow returns a file without its deeply indented lines. Nearly all of a custom resource definition is its schema,
// which is not needed here. Files in another style may become invalid YAML; these are parsed whole.
func shallow(data []byte) []byte {
	const deep = "        " // spec: versions: - schema: openAPIV3Schema: description
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte(deep)) {
			out.Write(line)
		}
	}
	return out.Bytes()
}

func definedVersions(crd *yaml.Node) (list []string) {
	_, spec := doc.Field(crd, "spec")
	_, names := doc.Field(spec, "names")
	group, kind := doc.Text(spec, "group"), doc.Text(names, "kind")
	if group == "" || kind == "" {
		return nil
	}
	versions := []string{doc.Text(spec, "version")} // for apiextensions.k8s.io/v1beta1
	for _, v := range doc.Items(spec, "versions") {
		if doc.Text(v, "served") != "false" {
			versions = append(versions, doc.Text(v, "name"))
		}
	}
	for _, v := range versions {
		if v != "" && !strings.ContainsAny(v, "{}") {
			list = append(list, group+"/"+v, group+"/"+v+"/"+kind)
		}
	}
	return list
}
