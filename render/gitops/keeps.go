package gitops

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
)

// Keeps reports whether an object stays in the cluster although a deployment stops deploying it. gone means that the
// object of Argo CD or Flux goes, too. Else d is how it deploys from now on. The object is as it was deployed before
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#prune,
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/). Hooks are not part of a release, and Argo CD does
// not prune them.
func (d *Deployment) Keeps(object map[string]any, gone bool) bool {
	has := options(object)
	const resourcePolicy = "helm.sh/resource-policy"
	switch d.Kind {
	case Flux:
		return gone && d.Orphans || !gone && d.Unpruned || marked(object, "prune", "disabled") || d.Phase(object) == Skipped
	case FluxHelm: // Helm never deletes what is in crds/
		return has(resourcePolicy, "keep") || d.Phase(object) > Applied || inCRDs(object)
	}
	if gone {
		return d.Orphans || has(syncOptions, "Delete=false") || has(resourcePolicy, "keep")
	}
	return has(syncOptions, "Prune=false") || d.Phase(object) > Applied
}

// LeavesAlone reports whether an upgrade of a release does not apply an object
// (https://fluxcd.io/flux/components/helm/helmreleases/#controlling-the-lifecycle-of-custom-resource-definitions).
func (d *Deployment) LeavesAlone(object map[string]any) bool {
	return d.Kind == FluxHelm && d.Release != nil && d.Release.KeepCRDs && inCRDs(object)
}

// inCRDs reports whether an object of a release is from crds/ of its chart. Helm tracks all others that are no hooks.
func inCRDs(object map[string]any) bool {
	return object["kind"] == "CustomResourceDefinition" && !options(object)(releaseName)
}

// Orphans reports whether all that an object of Argo CD or Flux deploys stays in the cluster when the object goes.
func Orphans(object map[string]any) bool { return made(object, Position{}).orphans() }

func (f *field) orphans() bool {
	spec := f.get("spec")
	switch policy := spec.text("deletionPolicy"); f.text("kind") {
	case "Kustomization":
		return policy == "Orphan" || (policy == "" || policy == "MirrorPrune") && spec.text("prune") == "false"
	case "ApplicationSet":
		return spec.truth("syncPolicy", "preserveResourcesOnDeletion") && !spec.present("template", "metadata", "finalizers")
	}
	return false
}

// Itself returns the object of a deployment, as far as Keeps reads it where another one deploys it.
func (d *Deployment) Itself() map[string]any {
	annotations := map[string]any{}
	for key, text := range d.Marks {
		annotations[key] = text
	}
	return map[string]any{"kind": d.Object.Kind, "metadata": map[string]any{
		"name": d.Object.Name, "namespace": d.Object.Namespace, "annotations": annotations}}
}

// marksOf returns the Marks of an object.
func marksOf(root *field) map[string]string {
	marks := map[string]string{}
	for _, key := range []string{syncOptions, fluxGroup + "/prune"} {
		if text := cmp.Or(root.text("metadata", "annotations", key), root.text("metadata", "labels", key)); text != "" {
			marks[key] = text
		}
	}
	return marks
}

// Forces reports whether an object that cannot be updated is deleted and created again. The deployment or an annotation
// can ask for that: Force=true of Argo CD (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/), but not
// Replace=true alone, and force of Flux (https://fluxcd.io/flux/components/kustomize/kustomizations/#force). If d is nil,
// the deployment is unknown, and each annotation counts.
func (d *Deployment) Forces(object map[string]any) bool {
	return d != nil && d.Recreate || d.by(Flux) && marked(object, "force", "enabled") ||
		d.by(argo...) && options(object)(syncOptions, "Force=true")
}

// AppliesOnServer reports whether an object is certainly sent as a server-side apply: Flux always does that for a
// Kustomization, and Argo CD where the Application or the object asks for it, unless it replaces the object
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#server-side-apply).
func (d *Deployment) AppliesOnServer(object map[string]any) bool {
	has := options(object)
	return d != nil && (d.Kind == Flux || d.by(argo...) && (d.Applied || has(syncOptions, "ServerSideApply=true")) &&
		!d.Replace && !has(syncOptions, "Replace=true", "ServerSideApply=false"))
}

// AppliesOnClient reports whether an object is sent as "kubectl apply" does: Argo CD does that unless something else is
// asked for.
func (d *Deployment) AppliesOnClient(object map[string]any) bool {
	return d != nil && d.by(argo...) && !d.AppliesOnServer(object) && !d.Replace && !options(object)(syncOptions, "Replace=true")
}

// Creates reports whether an object is only created, and an existing one is not changed
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#ifnotpresent).
func (d *Deployment) Creates(object map[string]any) bool {
	return d != nil && d.Kind == Flux && marked(object, "ssa", "IfNotPresent")
}

// Owned returns an object with the labels that Flux sets on all objects of a Kustomization when it applies them
// (kustomize-controller, SetOwnerLabels).
func (d *Deployment) Owned(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	labels, is := metadata["labels"].(map[string]any)
	if d == nil || d.Kind != Flux || !ok || !is && metadata["labels"] != nil {
		return object
	}
	object, metadata, labels = maps.Clone(object), maps.Clone(metadata), maps.Clone(labels)
	if labels == nil {
		labels = map[string]any{}
	}
	labels[fluxGroup+"/name"] = d.Object.Name
	if d.Object.Namespace != "" { // otherwise the root that deploys the object sets it
		labels[fluxGroup+"/namespace"] = d.Object.Namespace
	}
	metadata["labels"], object["metadata"] = labels, metadata
	return object
}

// Replaces reports whether Argo CD deletes and creates an object to change it (kubectl replace --force). Annotations count
// of the object as it is in the cluster and as it shall be. The Application can ask for Replace, but not for Force. CRDs
// and Namespaces are updated (gitops-engine, syncContext.applyObject).
func (d *Deployment) Replaces(live, target map[string]any) bool {
	has := func(option string) bool {
		return options(live)(syncOptions, option) || options(target)(syncOptions, option)
	}
	kind := target["kind"]
	return d != nil && d.by(argo...) && has("Force=true") && (d.Replace || has("Replace=true")) &&
		kind != "CustomResourceDefinition" && kind != "Namespace"
}

// IgnoredFields are fields of some objects that an Application ignores. An empty namespace or name matches all, as "*" does as
// a group or kind.
type IgnoredFields struct {
	Group, Kind, Namespace, Name string
	Pointers                     []string // RFC 6901
}

func ignoredFields(app *field) (list []IgnoredFields) {
	for _, one := range app.elements("spec", "ignoreDifferences") {
		i := IgnoredFields{one.text("group"), one.text("kind"), one.text("namespace"), one.text("name"), nil}
		for _, pointer := range one.elements("jsonPointers") {
			if text := pointer.text(); strings.HasPrefix(text, "/") { // Argo CD cannot ignore a whole object
				i.Pointers = append(i.Pointers, text)
			}
		}
		list = append(list, i)
	}
	return list
}

// Ignores returns the fields of an object that Argo CD sends as the cluster has them, since the Application ignores their
// differences and respects that
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#respect-ignore-difference-configs). Fields that are chosen by
// expressions or managers are not among them.
func (d *Deployment) Ignores(object map[string]any) (pointers []string) {
	if d == nil {
		return nil
	}
	apiVersion, _ := object["apiVersion"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	for _, i := range d.Ignored {
		if (i.Group == "*" || i.Group == group) && (i.Kind == "*" || i.Kind == object["kind"]) &&
			(i.Namespace == "" || i.Namespace == metadata["namespace"]) && (i.Name == "" || i.Name == metadata["name"]) {
			pointers = append(pointers, i.Pointers...)
		}
	}
	return pointers
}

// Phase is what a deployment does with an object when it is synchronized.
type Phase int

// Phases. Of an object that is Deferred or more, the cluster has nothing yet.
const (
	Applied  Phase = iota // the object is created or updated
	Renewed               // a hook: the former object is deleted, before or after it succeeded, and a new one is created
	Deferred              // a hook of a failed synchronization, a deletion, a rollback or a test
	Ignored               // a hook that never runs; an object that becomes one is deleted
	Skipped               // nothing is sent; an object in the cluster stays as it is
)

// Phase returns the phase of an object (https://helm.sh/docs/topics/charts_hooks/,
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/,
// https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources). Flux creates an
// object with IfNotPresent in a new cluster, so it is Applied. If d is nil, the deployment is unknown: each annotation of a
// hook counts, and the object is sent.
func (d *Deployment) Phase(object map[string]any) Phase {
	const argoHook, policy = "argocd.argoproj.io/hook", "-delete-policy"
	has := options(object)
	ofArgo := d.by(argo...) && has(argoHook)
	skip := ofArgo && has(argoHook, "Skip")
	ofHelm := (d.by(FluxHelm) || d.by(argo...)) && has(helmHook) && !has(helmHook, "crd-install")
	stays := has(argoHook+policy, "HookFailed") || has(helmHook+policy, "hook-failed")
	switch {
	case d != nil && d.Kind == Flux && (marked(object, "reconcile", "disabled") || marked(object, "ssa", "Ignore")):
		return Skipped
	case !ofArgo && !ofHelm || d == nil && skip:
		return Applied
	case d == nil, ofArgo && has(argoHook, "PreSync", "Sync", "PostSync"),
		ofHelm && !skip && has(helmHook, d.renewing()...):
		if stays && !has(argoHook+policy, "BeforeHookCreation", "HookSucceeded") &&
			!has(helmHook+policy, "before-hook-creation", "hook-succeeded") {
			return Applied
		}
		return Renewed
	case d.Kind == FluxHelm, ofArgo && has(argoHook, "SyncFail", "PreDelete", "PostDelete"),
		has(helmHook, "pre-delete", "post-delete"):
		return Deferred
	case skip:
		return Skipped
	}
	return Ignored
}

// marked reports whether a label or an annotation of Flux has a value, in any letter case.
func marked(object map[string]any, key, value string) bool {
	metadata, _ := object["metadata"].(map[string]any)
	return slices.ContainsFunc([]string{"labels", "annotations"}, func(in string) bool {
		of, _ := metadata[in].(map[string]any)
		text, _ := of[fluxGroup+"/"+key].(string)
		return strings.EqualFold(text, value)
	})
}

// by reports whether a deployment has one of some kinds, or is unknown.
func (d *Deployment) by(kinds ...Kind) bool { return d == nil || slices.Contains(kinds, d.Kind) }

const helmHook = "helm.sh/hook"

const syncOptions = "argocd.argoproj.io/sync-options"

// argo lists the kinds of deployments of Argo CD.
var argo = []Kind{ArgoDirectory, ArgoKustomize, ArgoHelm}

// options returns a function that reports whether an annotation of an object has one of several options, or any option
// if none is given. Commas separate them. Only Argo CD distinguishes upper and lower case.
func options(object map[string]any) func(key string, options ...string) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return func(key string, options ...string) bool {
		text, _ := annotations[key].(string)
		return slices.ContainsFunc(strings.Split(text, ","), func(one string) bool {
			one = strings.TrimSpace(one)
			return len(options) == 0 && one != "" || slices.ContainsFunc(options, func(option string) bool {
				return one == option || !strings.HasPrefix(key, "argocd.") && strings.EqualFold(one, option)
			})
		})
	}
}

// Hooks says which hooks of a chart are deployed (https://helm.sh/docs/topics/charts_hooks/). The zero value leaves out
// those that are only tests.
type Hooks struct {
	Idle         []string // what no hook runs before or after: install, upgrade, rollback or delete
	Tests        bool     // tests run after an installation and an upgrade
	Only, Except []string // names of the tests that run; no names in Only: all
	SkipTests    bool     // a test is left out even if it is another hook, too
}

// Runs reports whether a hook is deployed.
func (h Hooks) Runs(name string, events []string) bool {
	if slices.Contains(h.Except, name) || len(h.Only) > 0 && !slices.Contains(h.Only, name) {
		h.Tests = false
	}
	return !(h.SkipTests && slices.ContainsFunc(events, isTest)) && slices.ContainsFunc(events, h.runsOn)
}

// runsOn reports whether hooks of an event run.
func (h Hooks) runsOn(event string) bool {
	_, action, _ := strings.Cut(event, "-")
	return isTest(event) && h.Tests || !isTest(event) && !slices.Contains(h.Idle, action)
}

// isTest reports whether an event is that of a test, also in the spelling of Helm 2.
func isTest(event string) bool { return event == "test" || event == "test-success" }

// renewing lists the events at which a deployment runs hooks of Helm each time. If d is nil, the deployment is unknown.
func (d *Deployment) renewing() []string {
	events := []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
	if d == nil || d.Kind != FluxHelm || d.Release == nil {
		return events
	}
	return slices.DeleteFunc(append(events, "test", "test-success"), func(e string) bool { return !d.Release.Hooks.runsOn(e) })
}

// fluxHooks returns the hooks that a HelmRelease runs (https://fluxcd.io/flux/components/helm/helmreleases/).
func fluxHooks(spec *field) (out Hooks) {
	out.Tests = spec.truth("test", "enable")
	for _, action := range []string{"install", "upgrade", "rollback", "uninstall"} {
		if spec.truth(action, "disableHooks") {
			out.Idle = append(out.Idle, strings.Replace(action, "uninstall", "delete", 1))
		}
	}
	for _, filter := range spec.elements("test", "filters") {
		if filter.truth("exclude") {
			out.Except = append(out.Except, filter.text("name"))
		} else {
			out.Only = append(out.Only, filter.text("name"))
		}
	}
	return out
}

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
