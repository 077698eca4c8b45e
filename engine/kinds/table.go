package kinds

// apiGroup is an API group with the kinds that have a namespace and those that have none.
type apiGroup struct {
	name, namespaced, cluster string
	versions                  string // that it ever had; of a group of custom resources they are not known
}

// kubernetes are the kinds of Kubernetes itself: those of k8s.io/api 0.37 by their markers +genclient:nonNamespaced
// (their tests read these), with the kinds of API server extensions and of groups and versions that are gone.
var kubernetes = []apiGroup{
	{"", "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController" +
		" ResourceQuota Secret Service ServiceAccount", "ComponentStatus Namespace Node PersistentVolume", "v1"},
	{"admissionregistration.k8s.io", "", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding" +
		" MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding" +
		" ValidatingWebhookConfiguration", "v1 v1beta1 v1alpha1"},
	{"apiextensions.k8s.io", "", "CustomResourceDefinition", "v1 v1beta1"},
	{"apiregistration.k8s.io", "", "APIService", "v1 v1beta1"},
	{"apps", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", "", "v1 v1beta2 v1beta1 v1alpha1"},
	{"authentication.k8s.io", "", "SelfSubjectReview TokenReview", "v1 v1beta1 v1alpha1"},
	{"authorization.k8s.io", "LocalSubjectAccessReview",
		"SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview", "v1 v1beta1"},
	{"autoscaling", "HorizontalPodAutoscaler", "", "v1 v2 v2beta2 v2beta1 v2alpha1"},
	{"batch", "CronJob Job", "", "v1 v1beta1 v2alpha1"},
	{"certificates.k8s.io", "PodCertificateRequest", "CertificateSigningRequest ClusterTrustBundle",
		"v1 v1beta1 v1alpha1"},
	{"coordination.k8s.io", "Lease LeaseCandidate", "", "v1 v1beta1 v1alpha2 v1alpha1"},
	{"discovery.k8s.io", "EndpointSlice", "", "v1 v1beta1 v1alpha1"},
	{"events.k8s.io", "Event", "", "v1 v1beta1"},
	{"extensions", "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet", "PodSecurityPolicy", "v1beta1"},
	{"flowcontrol.apiserver.k8s.io", "", "FlowSchema PriorityLevelConfiguration",
		"v1 v1beta3 v1beta2 v1beta1 v1alpha1"},
	{"imagepolicy.k8s.io", "", "ImageReview", "v1alpha1"},
	{"internal.apiserver.k8s.io", "", "StorageVersion", "v1alpha1"},
	{"lifecycle.k8s.io", "Eviction EvictionRequest", "", "v1alpha1"},
	{"networking.k8s.io", "Ingress NetworkPolicy", "IPAddress IngressClass ServiceCIDR", "v1 v1beta1 v1alpha1"},
	{"node.k8s.io", "", "RuntimeClass", "v1 v1beta1 v1alpha1"},
	{"policy", "PodDisruptionBudget", "PodSecurityPolicy", "v1 v1beta1 v1alpha1"},
	{"rbac.authorization.k8s.io", "Role RoleBinding", "ClusterRole ClusterRoleBinding", "v1 v1beta1 v1alpha1"},
	{"resource.k8s.io", "ResourceClaim ResourceClaimTemplate",
		"DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice",
		"v1 v1beta2 v1beta1 v1alpha3 v1alpha2 v1alpha1"},
	{"scheduling.k8s.io", "CompositePodGroup PodGroup Workload", "PriorityClass",
		"v1 v1beta1 v1alpha3 v1alpha2 v1alpha1"},
	{"storage.k8s.io", "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
		"v1 v1beta1 v1alpha1"},
	{"storagemigration.k8s.io", "", "StorageVersionMigration", "v1 v1beta1 v1alpha1"},
}

// custom are the kinds of policies, and common custom resources without a namespace: kinds that are not listed mostly
// have one.
var custom = []apiGroup{
	{"kyverno.io", "CleanupPolicy Policy PolicyException UpdateRequest",
		"ClusterCleanupPolicy ClusterPolicy GlobalContextEntry", ""},
	{"policies.kyverno.io", "NamespacedDeletingPolicy NamespacedGeneratingPolicy NamespacedImageValidatingPolicy" +
		" NamespacedMutatingPolicy NamespacedValidatingPolicy PolicyException",
		"DeletingPolicy GeneratingPolicy ImageValidatingPolicy MutatingPolicy ValidatingPolicy", ""},
	{"apiextensions.crossplane.io", "", "CompositeResourceDefinition Composition", ""},
	{"cert-manager.io", "", "ClusterIssuer", ""},
	{"cilium.io", "", "CiliumClusterwideNetworkPolicy CiliumLoadBalancerIPPool CiliumNode", ""},
	{"config.openshift.io", "", "APIServer ClusterVersion DNS Image Ingress OAuth Proxy Scheduler", ""},
	{"external-secrets.io", "", "ClusterExternalSecret ClusterPushSecret ClusterSecretStore", ""},
	{"gateway.networking.k8s.io", "", "GatewayClass", ""},
	{"pkg.crossplane.io", "", "Configuration Function Provider", ""},
	{"project.openshift.io", "", "Project", ""},
	{"security.openshift.io", "", "SecurityContextConstraints", ""},
	{"snapshot.storage.k8s.io", "", "VolumeSnapshotClass VolumeSnapshotContent", ""},
	{"trust.cert-manager.io", "", "Bundle", ""},
	{"user.openshift.io", "", "Group Identity User", ""},
}
