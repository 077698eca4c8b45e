package helm

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	runtime "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

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
