// Package gitops reads what Argo CD and Flux objects of a repository say is deployed from it: which folders and which
// charts, into which namespaces and clusters, with which overrides, substitutions and values.
//
// It works before anything is rendered and talks to no cluster: what only a cluster knows (its list of clusters, a
// Secret) is a Problem that says so, and so is what it cannot make sense of: nothing is left out in silence.
//
// The values of a release are merged by what the controllers merge them by, and once more with a name in place of each
// value: which of them is where in the end says which line of the repository decides it.
//
// The rules are those of Argo CD 3 (https://argo-cd.readthedocs.io/en/stable/), of Flux' kustomize-controller
// (https://fluxcd.io/flux/components/kustomize/kustomizations/) and of its helm-controller
// (https://fluxcd.io/flux/components/helm/helmreleases/).
package gitops
