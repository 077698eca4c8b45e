package helm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// apiVersions is common.VersionSet. What it was asked for is noted behind its end, in the spare capacity of the slice: it
// must be a slice, because templates range over it, and so has no other place.
type apiVersions []string

// manyVersions is how many questions are noted.
const manyVersions = 1000

// granted marks a question that was not denied.
const granted = "+"

func spare(have []string) apiVersions {
	return append(make(apiVersions, 0, len(have)+manyVersions), have...)
}

// Has reports whether a version is in the set.
func (v apiVersions) Has(version string) bool {
	has, note := slices.Contains(v, version), version
	if has {
		note = granted + version
	}
	for i, noted := range v[len(v):cap(v)] {
		if noted == note {
			break
		}
		if noted == "" {
			v[:cap(v)][len(v)+i] = note
			break
		}
	}
	return has
}

// absent returns what was denied, present what was granted.
func (v apiVersions) absent() []string  { return v.noted(false) }
func (v apiVersions) present() []string { return v.noted(true) }

func (v apiVersions) noted(has bool) []string {
	set := map[string]bool{}
	for _, noted := range v[len(v):cap(v)] {
		if version, ok := strings.CutPrefix(noted, granted); ok == has && noted != "" {
			set[version] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// full reports whether there was no room to note more.
func (v apiVersions) full() bool { return cap(v) > len(v) && v[:cap(v)][cap(v)-1] != "" }

// asks is what templates may ask that is not noted while they run.
type asks struct {
	versions bool // for API versions in another way than by Has
	phase    bool // whether the release is installed or upgraded
}

func (a *asks) add(b asks) { a.versions, a.phase = a.versions || b.versions, a.phase || b.phase }

// fields notes what a chain of fields asks for; in a condition the number of the revision tells the phase, too.
func (a *asks) fields(chain []string, condition bool) {
	behind := func(i int) string {
		if i+1 < len(chain) {
			return chain[i+1]
		}
		return ""
	}
	for i, name := range chain {
		switch name {
		case "Capabilities":
			if next := behind(i); next != "KubeVersion" && next != "HelmVersion" && next != "APIVersions" {
				a.versions = true
			}
		case "APIVersions":
			a.versions = a.versions || behind(i) != "Has"
		case "IsUpgrade", "IsInstall":
			a.phase = true
		case "Revision":
			a.phase = a.phase || condition
		}
	}
}

// text notes what a text may ask for that stands in a call, as the name of a field or as a template.
func (a *asks) text(text string, condition bool) {
	has := func(word string) bool { return strings.Contains(text, word) }
	a.versions = a.versions || has("Capabilities") || has("APIVersions")
	a.phase = a.phase || has("IsUpgrade") || has("IsInstall") || condition && has("Revision")
}
