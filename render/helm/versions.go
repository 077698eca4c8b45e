package helm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	runtime "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
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

// KubernetesKinds returns "group/version/Kind" ("v1/Pod") of every kind that a version of Kubernetes ("" for Helm's
// default) serves by default, sorted. It only knows the kinds in the Kubernetes libraries of Helm. Removed and future
// kinds are left out, and so are alpha versions, and beta versions since 1.24. A cluster has these kinds in its API
// versions; `helm template` has group versions only.
func KubernetesKinds(version string) []string {
	of, err := common.ParseKubeVersion(cmp.Or(version, DefaultKubernetes))
	if err != nil {
		return nil
	}
	minor, _ := strconv.Atoi(of.Minor)
	set := map[string]bool{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(kind.Kind, "List") || strings.HasSuffix(kind.Kind, "Options") || kind.Kind == "WatchEvent" ||
			kind.Version == "__internal" || of.Major == "1" && !served(kind, minor) {
			continue
		}
		set[kind.GroupVersion().String()+"/"+kind.Kind] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// served reports whether Kubernetes 1.MINOR has a kind.
func served(kind runtime.GroupVersionKind, minor int) bool {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return false
	}
	introduced := 0
	if in, ok := object.(interface{ APILifecycleIntroduced() (int, int) }); ok {
		_, introduced = in.APILifecycleIntroduced()
	}
	if in, ok := object.(interface{ APILifecycleRemoved() (int, int) }); ok {
		if major, gone := in.APILifecycleRemoved(); major == 1 && minor >= gone {
			return false
		}
	}
	const lastBeta = 23 // later beta versions are off by default
	return minor >= introduced && !strings.Contains(kind.Version, "alpha") &&
		(introduced <= lastBeta || !strings.Contains(kind.Version, "beta"))
}
