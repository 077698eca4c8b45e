package apiserver

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// linked is the minor version of Kubernetes whose code this is, and firstEmulated the first one that it can take the
// rules of (https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/).
const (
	linked        = 37
	firstEmulated = 31
)

// emulate has Kubernetes' code behave as that of an earlier version, by the features that this one had, while do runs.
// Nothing else is looked at meanwhile: these are Kubernetes' own switches, of which there is one set.
func emulate(minor uint, do func()) {
	scheme.Lock()
	defer scheme.Unlock()
	gates := utilfeature.DefaultMutableFeatureGate
	defer func() { utilruntime.Must(gates.SetEmulationVersion(version.MajorMinor(1, linked))) }()
	utilruntime.Must(gates.SetEmulationVersion(version.MajorMinor(1, minor)))
	do()
}
