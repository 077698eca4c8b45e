package gitops

import (
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
)

// Namespace is what a controller creates the namespace of a deployment with, if the cluster lacks it.
type Namespace struct {
	Metadata
	Managed bool     // the controller also sets the metadata of a Namespace that exists
	Where   Position // of the option, or of the metadata
	Fix     string   // how a person gives it other metadata
}

// argoNamespace reads whether Argo CD creates the namespace of an Application, and with which metadata
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#create-namespace).
func argoNamespace(app *field) *Namespace {
	policy := app.get("spec", "syncPolicy")
	options := policy.elements("syncOptions")
	i := slices.IndexFunc(options, func(option *field) bool { return option.text() == "CreateNamespace=true" })
	if i < 0 {
		return nil
	}
	out := &Namespace{Where: options[i].position(), Fix: "set the labels and annotations of the Namespace in " +
		"spec.syncPolicy.managedNamespaceMetadata of the Application, or add the Namespace to the manifests"}
	if managed := policy.get("managedNamespaceMetadata"); managed.present() {
		out.Managed, out.Where = true, managed.position()
		out.Labels, out.Annotations = valuesOf(managed.get("labels")), valuesOf(managed.get("annotations"))
	}
	return out
}

// fluxNamespace reads whether Helm creates the target namespace of a HelmRelease. It then has one label
// (helm.sh/helm/v4/pkg/action, Install).
func fluxNamespace(spec *field) *Namespace {
	at := spec.position("install", "createNamespace")
	if !spec.truth("install", "createNamespace") || spec.text("targetNamespace") == "" {
		return nil
	}
	return &Namespace{Where: at, Fix: "add the Namespace to the manifests, since Helm creates it with the label name only",
		Metadata: Metadata{Labels: map[string]Value{"name": {spec.text("targetNamespace"), at}}}}
}

// CreatedNamespace returns the Namespace that the deployment creates if the cluster lacks it, and a function that returns
// where a field of it is written; exact is false for the place to edit where the field is missing. The object is nil where
// the deployment creates none.
func (d *Deployment) CreatedNamespace() (object map[string]any, place func(pointer string) (at Position, exact bool)) {
	if d.Created == nil || d.Namespace == "" || unfilled(d.Namespace) {
		return nil, nil
	}
	metadata := map[string]any{"name": d.Namespace}
	places := map[string]Position{"/metadata/name": d.NamespaceWhere}
	for key, values := range map[string]map[string]Value{"labels": d.Created.Labels, "annotations": d.Created.Annotations} {
		of := map[string]any{}
		for name, value := range values {
			of[name] = value.Text
			places["/metadata/"+key+"/"+jsonpointer.Escape(name)] = value.Where
		}
		if len(of) > 0 {
			metadata[key] = of
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, func(pointer string) (Position, bool) {
		for at, where := range places {
			if pointer == at || strings.HasPrefix(pointer, at+"/") {
				return where, true
			}
		}
		return d.Created.Where, false
	}
}
