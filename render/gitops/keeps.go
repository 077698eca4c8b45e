package gitops

import (
	"slices"
	"strings"
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
		return gone && d.Orphans || !gone && d.Unpruned || has(fluxGroup+"/prune", "disabled") || has(fluxGroup+"/reconcile", "disabled")
	case FluxHelm:
		return has(resourcePolicy, "keep") || d.Hook(object)
	}
	if gone {
		return d.Orphans || has(syncOptions, "Delete=false") || has(resourcePolicy, "keep")
	}
	return has(syncOptions, "Prune=false") || d.Hook(object)
}

// Forces reports whether an object that cannot be updated is deleted and created again. The deployment or an annotation
// can ask for that: Force=true of Argo CD (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/), but not
// Replace=true alone, and force of Flux (https://fluxcd.io/flux/components/kustomize/kustomizations/#force). If d is nil,
// the deployment is unknown, and each annotation counts.
func (d *Deployment) Forces(object map[string]any) bool {
	has := options(object)
	return d != nil && d.Recreate || d.by(Flux) && has(fluxGroup+"/force", "enabled") || d.by(argo...) && has(syncOptions, "Force=true")
}

// Hook reports whether a deployment runs an object as a hook, and deletes the former one before, or after it succeeded.
// Such an object is always created, never updated (https://helm.sh/docs/topics/charts_hooks/,
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/). If d is nil, the deployment is unknown, and each
// annotation counts.
func (d *Deployment) Hook(object map[string]any) bool {
	const argoHook, helmHook, policy = "argocd.argoproj.io/hook", "helm.sh/hook", "-delete-policy"
	has := options(object)
	switch {
	case d.by(argo...) && has(argoHook):
		if has(argoHook, "Skip") {
			return false
		}
	case !has(helmHook) || has(helmHook, "crd-install") || !d.by(FluxHelm) && !d.by(argo...):
		return false
	}
	stays := has(argoHook+policy, "HookFailed") || has(helmHook+policy, "hook-failed")
	return !stays || has(argoHook+policy, "BeforeHookCreation", "HookSucceeded") ||
		has(helmHook+policy, "before-hook-creation", "hook-succeeded")
}

// by reports whether a deployment has one of some kinds, or is unknown.
func (d *Deployment) by(kinds ...Kind) bool { return d == nil || slices.Contains(kinds, d.Kind) }

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
