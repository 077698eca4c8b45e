package helm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
)

// seen is common.Capabilities with API versions that record what they are asked. Templates see no difference.
type seen struct {
	KubeVersion common.KubeVersion
	APIVersions apiVersions
	HelmVersion any
}

// Format implements fmt.Formatter. Inside other values, Helm's type prints an address, which is never the same.
func (s *seen) Format(to fmt.State, _ rune) {
	type plain seen
	fmt.Fprintf(to, "&%v", plain(*s))
}

// apiVersions is common.VersionSet. It records questions after its end, in the spare capacity of the slice: it must be
// a slice because templates range over it, so it has no fields.
type apiVersions []string

// manyVersions is how many questions are recorded.
const manyVersions = 1000

// granted marks a question whose answer was yes.
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

// absent returns the denied versions, present the granted ones.
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

// full reports whether the space for questions is used up.
func (v apiVersions) full() bool { return cap(v) > len(v) && v[:cap(v)][cap(v)-1] != "" }

// asks is what templates may ask for in ways that are not recorded while they run.
type asks struct {
	versions bool // API versions, in other ways than by Has
	phase    bool // whether the release is installed or upgraded
}

func (a *asks) add(b asks) { a.versions, a.phase = a.versions || b.versions, a.phase || b.phase }

// fields records what a chain of fields asks for. In a condition, the revision number distinguishes the phase, too.
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

// text records what a text may ask for when it is used as the name of a field or as a template.
func (a *asks) text(text string, condition bool) {
	has := func(word string) bool { return strings.Contains(text, word) }
	a.versions = a.versions || has("Capabilities") || has("APIVersions")
	a.phase = a.phase || has("IsUpgrade") || has("IsInstall") || condition && has("Revision")
}
