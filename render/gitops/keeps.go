package gitops

import (
	"slices"
	"strings"
)

// Keeps reports whether an object stays in the cluster although a deployment stops deploying it. gone means that the
// object of Argo CD or Flux goes, too. Else d is how it deploys from now on. The object is as it was deployed before
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#prune,
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/).
func (d *Deployment) Keeps(object map[string]any, gone bool) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	has := func(key, option string) bool {
		text, _ := annotations[key].(string)
		return slices.ContainsFunc(strings.Split(text, ","), func(o string) bool { return strings.TrimSpace(o) == option })
	}
	const syncOptions, resourcePolicy = "argocd.argoproj.io/sync-options", "helm.sh/resource-policy"
	switch d.Kind {
	case Flux:
		return gone && d.Orphans || !gone && d.Unpruned || has(fluxGroup+"/prune", "disabled") || has(fluxGroup+"/reconcile", "disabled")
	case FluxHelm:
		return has(resourcePolicy, "keep")
	}
	if gone {
		return d.Orphans || has(syncOptions, "Delete=false") || has(resourcePolicy, "keep")
	}
	return has(syncOptions, "Prune=false")
}
