// Package gitops reads what Argo CD and Flux objects of a repository say is deployed from it: which folders, into
// which namespaces and clusters, with which overrides and substitutions.
//
// It works before anything is rendered and talks to no cluster: what only a cluster knows (its list of clusters, a
// Secret) is a Problem that says so, and so is what it cannot make sense of: nothing is left out in silence.
//
// The rules are those of Argo CD 3 (https://argo-cd.readthedocs.io/en/stable/) and of Flux' kustomize-controller
// (https://fluxcd.io/flux/components/kustomize/kustomizations/).
package gitops
