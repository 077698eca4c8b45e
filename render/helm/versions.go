package helm

import (
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
)

// seen is common.Capabilities, with API versions that note what they were asked for. Templates see no difference.
type seen struct {
	KubeVersion common.KubeVersion
	APIVersions apiVersions
	HelmVersion any
}

// Format implements fmt.Formatter. Inside of other values Helm's would print as an address, which is never the same.
func (s *seen) Format(to fmt.State, _ rune) {
	type plain seen
	fmt.Fprintf(to, "&%v", plain(*s))
}

// apiVersions is common.VersionSet. What it does not have and was asked for is noted behind its end, in the spare
// capacity of the slice: it must be a slice, because templates range over it, and so has no other place.
type apiVersions []string

// Denied questions that are noted.
const manyVersions = 1000

func spare(have []string) apiVersions {
	return append(make(apiVersions, 0, len(have)+manyVersions), have...)
}

// Has reports whether a version is in the set.
func (v apiVersions) Has(version string) bool {
	if slices.Contains(v, version) {
		return true
	}
	for i, noted := range v[len(v):cap(v)] {
		if noted == version {
			break
		}
		if noted == "" {
			v[:cap(v)][len(v)+i] = version
			break
		}
	}
	return false
}

// absent returns what was denied.
func (v apiVersions) absent() []string {
	set := map[string]bool{}
	for _, noted := range v[len(v):cap(v)] {
		if noted != "" {
			set[noted] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
