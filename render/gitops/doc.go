// Package gitops reads what Argo CD and Flux objects of a repository say is deployed from it: which folders and which
// charts, into which namespaces and clusters, with which overrides, substitutions and values.
//
// It works before anything is rendered, and without a cluster. What only a cluster knows, like its list of clusters or a
// Secret, is reported as a Problem. So is everything that the package does not understand: nothing is left out silently.
//
// The values of a release are merged as the controllers merge them. They are merged a second time with a marker in place of
// each value: the markers in the result show which line of the repository each value comes from.
//
// The rules are those of Argo CD 3 (https://argo-cd.readthedocs.io/en/stable/), of Flux' kustomize-controller
// (https://fluxcd.io/flux/components/kustomize/kustomizations/) and of its helm-controller
// (https://fluxcd.io/flux/components/helm/helmreleases/).
package gitops
