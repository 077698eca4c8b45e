package helm

import (
	"fmt"
	"maps"
	"regexp"
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

// capabilitiesWords are those by which a template may get hold of the API versions.
var capabilitiesWords = []string{"Capabilities", "APIVersions"}

// capabilitiesWord tells, where one of them stands, whether nothing but one version is asked for.
var capabilitiesWord = regexp.MustCompile(
	`^(?:Capabilities\b(\.(?:KubeVersion|HelmVersion|APIVersions\.Has)\b)?|APIVersions\b(\.Has\b)?)`)

// maxCapabilitiesWord is more than the longest of what that matches.
const maxCapabilitiesWord = 64

// phaseWord finds where a template may ask whether it is installed or upgraded.
var phaseWord = regexp.MustCompile(`\bIs(?:Upgrade|Install)\b|\{\{-?\s*(?:else\s+)?(?:if|with)\b[^}]*\bRevision\b`)

// asksPhase reports whether a template may. The words are looked for first: an expression takes long, of large templates.
func asksPhase(text string) bool {
	return (strings.Contains(text, "IsUpgrade") || strings.Contains(text, "IsInstall") ||
		strings.Contains(text, "Revision")) && phaseWord.MatchString(text)
}

// listsVersions reports whether a template may look at API versions in another way than by asking for one: it errs on the
// side of true.
func listsVersions(text string) bool {
	for _, word := range capabilitiesWords {
		for rest := text; ; {
			i := strings.Index(rest, word)
			if i < 0 {
				break
			}
			rest = rest[i:]
			m := capabilitiesWord.FindStringSubmatchIndex(rest[:min(len(rest), maxCapabilitiesWord)])
			if m != nil && m[2] < 0 && m[4] < 0 {
				return true
			}
			step := len(word)
			if m != nil {
				step = m[1]
			}
			rest = rest[step:]
		}
	}
	return false
}
