package apiserver

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// linked is the minor version of Kubernetes whose code is used. firstEmulated is the first version whose rules it can
// emulate (https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/).
const (
	linked        = 37
	firstEmulated = 31
)

// emulate calls do while Kubernetes' code has the features of an earlier version. No other validation runs meanwhile,
// since these feature gates are global.
func emulate(minor uint, do func()) {
	scheme.Lock()
	defer scheme.Unlock()
	gates := utilfeature.DefaultMutableFeatureGate
	defer func() { utilruntime.Must(gates.SetEmulationVersion(version.MajorMinor(1, linked))) }()
	utilruntime.Must(gates.SetEmulationVersion(version.MajorMinor(1, minor)))
	do()
}
