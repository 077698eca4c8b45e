package roots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
)

// Kind is what a root is. The zero value is a kustomization.
type Kind uint8

// The kinds of roots. The first stand in a folder by themselves (see kinds), the others are what an object of Argo CD
// or Flux makes of a folder (see KindOf).
const (
	Kustomization     Kind = iota
	Folder                 // manifests without a kustomization
	Chart                  // the folder of a Helm chart
	Application            // of Argo CD
	ApplicationSet         // what one of Argo CD generates
	FluxKustomization      // of Flux
	HelmRelease            // of Flux
)

var kindNames = [...]string{"Kustomization", "Folder", "Chart", "Application", "ApplicationSet", "FluxKustomization",
	"HelmRelease"}

// IsKindName reports whether a text is the name of a kind.
func IsKindName(name string) bool { return slices.Contains(kindNames[:], name) }

// String returns the name of a kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// ChartEntryKind is the kind of what stands for an object of Argo CD where a ChartEntry says how a chart is deployed.
const ChartEntryKind = "Chart"

// KindOf returns the kind of the roots that an object of a kind deploys.
func KindOf(object string) Kind {
	switch object {
	case "Application":
		return Application
	case "ApplicationSet":
		return ApplicationSet
	case "HelmRelease":
		return HelmRelease
	case ChartEntryKind:
		return Chart
	}
	return FluxKustomization
}

// Root is one thing that is deployed as a whole. It is comparable: the same root of two trees is equal.
type Root struct {
	Path   string // folder, "." for the top
	Kind   Kind
	Object string // names the object of Argo CD or Flux that deploys the folder in its own way; empty: deployed as it is
}

// Name returns what people call a root: its path, or KIND/NAMESPACE/NAME of the object that deploys it; PATH@VALUES of a
// chart with other values than its own. Others may be called the same: see deploy.Set.List.
func (r Root) Name() string {
	if r.Object == "" {
		return r.Path
	}
	if r.Kind == Chart {
		return r.Path + "@" + gitops.NameOf(r.Object)
	}
	return r.Kind.String() + "/" + gitops.NameOf(r.Object)
}

// Compare orders roots by path, a kustomization before the plain manifests of the same folder, and both before what
// objects of Argo CD and Flux make of it.
func Compare(a, b Root) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind))
}
