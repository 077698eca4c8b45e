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

// KubernetesKinds returns "group/version/Kind" ("v1/Pod") of every kind that a version of Kubernetes ("" for Helm's own)
// serves unless it is told otherwise, as far as the Kubernetes libraries of Helm know it, sorted: kinds that are gone by
// then, or have not come yet, are not among them, and neither are alpha versions, and beta versions since 1.24. A
// cluster has them in its API versions; `helm template` has group versions only.
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
	const lastBeta = 23 // beta versions that came later are off unless they are asked for
	return minor >= introduced && !strings.Contains(kind.Version, "alpha") &&
		(introduced <= lastBeta || !strings.Contains(kind.Version, "beta"))
}
