package engine

import (
	"cmp"
	"slices"
)

// KnownKind is a kind of policies, or of documents that belong to policies.
type KnownKind struct {
	Group, Kind string
	Versions    []string
	Use         Use
}

// Use is how documents of a kind are used.
type Use string

// The uses.
const (
	UseEvaluated   Use = "evaluated"
	UseBinding     Use = "binding" // puts policies into force
	UseException   Use = "exception"
	UseClusterOnly Use = "elsewhere" // evaluated in a cluster only, which is said once
)

// KnownKinds lists the kinds, by their groups and names.
func KnownKinds() (list []KnownKind) {
	for group, kinds := range kindsOf {
		for kind, r := range kinds {
			one := KnownKind{Group: group, Kind: kind, Versions: versionsOf(group, r)}
			switch {
			case r == nil:
				continue
			case r.compile != nil:
				one.Use = UseEvaluated
			case r.bind != nil:
				one.Use = UseBinding
			case r.exception:
				one.Use = UseException
			default:
				one.Use = UseClusterOnly
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b KnownKind) int {
		return cmp.Or(cmp.Compare(b.Group, a.Group), cmp.Compare(a.Kind, b.Kind)) // Kyverno's first
	})
	return list
}
