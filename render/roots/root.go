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

// The kinds of roots. The first three are folders of their own (see kinds). The others are deployed by an object of
// Argo CD or Flux (see KindOf).
const (
	Kustomization     Kind = iota
	Folder                 // manifests without a kustomization
	Chart                  // the folder of a Helm chart
	Application            // of Argo CD
	ApplicationSet         // what one of Argo CD generates
	FluxKustomization      // a Kustomization of Flux
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

// ChartEntryKind is the kind of the object that a ChartEntry stands for.
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
	Object string // identifies the object of Argo CD or Flux that deploys the folder in its own way; empty: deployed as it is
}

// Name returns the name of a root for people: its path, or KIND/NAMESPACE/NAME of the object that deploys it, or
// PATH@VALUES for a ChartEntry. It may not be unique: see deploy.Set.List.
func (r Root) Name() string {
	if r.Object == "" {
		return r.Path
	}
	if r.Kind == Chart {
		return r.Path + "@" + gitops.NameOf(r.Object)
	}
	return r.Kind.String() + "/" + gitops.NameOf(r.Object)
}

// Compare orders roots by path. In a folder, a kustomization comes before plain manifests, and both before what objects
// of Argo CD and Flux deploy.
func Compare(a, b Root) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind))
}
