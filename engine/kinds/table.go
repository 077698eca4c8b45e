package kinds

// apiGroup is an API group with the kinds that have a namespace and those that have none.
type apiGroup struct{ name, namespaced, cluster string }

// kubernetes are the kinds of Kubernetes itself: those of k8s.io/api 0.37 by their markers +genclient:nonNamespaced
// (their tests read these), with the kinds of API server extensions and of groups that are gone.
var kubernetes = []apiGroup{
	{"", "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController" +
		" ResourceQuota Secret Service ServiceAccount", "ComponentStatus Namespace Node PersistentVolume"},
	{"admissionregistration.k8s.io", "", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding" +
		" MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding" +
		" ValidatingWebhookConfiguration"},
	{"apiextensions.k8s.io", "", "CustomResourceDefinition"},
	{"apiregistration.k8s.io", "", "APIService"},
	{"apps", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""},
	{"authentication.k8s.io", "", "SelfSubjectReview TokenReview"},
	{"authorization.k8s.io", "LocalSubjectAccessReview",
		"SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"},
	{"autoscaling", "HorizontalPodAutoscaler", ""},
	{"batch", "CronJob Job", ""},
	{"certificates.k8s.io", "PodCertificateRequest", "CertificateSigningRequest ClusterTrustBundle"},
	{"coordination.k8s.io", "Lease LeaseCandidate", ""},
	{"discovery.k8s.io", "EndpointSlice", ""},
	{"events.k8s.io", "Event", ""},
	{"extensions", "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet", "PodSecurityPolicy"},
	{"flowcontrol.apiserver.k8s.io", "", "FlowSchema PriorityLevelConfiguration"},
	{"imagepolicy.k8s.io", "", "ImageReview"},
	{"internal.apiserver.k8s.io", "", "StorageVersion"},
	{"lifecycle.k8s.io", "Eviction EvictionRequest", ""},
	{"networking.k8s.io", "Ingress NetworkPolicy", "IPAddress IngressClass ServiceCIDR"},
	{"node.k8s.io", "", "RuntimeClass"},
	{"policy", "PodDisruptionBudget", "PodSecurityPolicy"},
	{"rbac.authorization.k8s.io", "Role RoleBinding", "ClusterRole ClusterRoleBinding"},
	{"resource.k8s.io", "ResourceClaim ResourceClaimTemplate",
		"DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice"},
	{"scheduling.k8s.io", "CompositePodGroup PodGroup Workload", "PriorityClass"},
	{"storage.k8s.io", "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass"},
	{"storagemigration.k8s.io", "", "StorageVersionMigration"},
}

// custom are the policies' own kinds, and widespread custom resources without a namespace: what is not listed has
// one more often than not.
var custom = []apiGroup{
	{"kyverno.io", "CleanupPolicy Policy PolicyException UpdateRequest",
		"ClusterCleanupPolicy ClusterPolicy GlobalContextEntry"},
	{"policies.kyverno.io", "NamespacedDeletingPolicy NamespacedGeneratingPolicy NamespacedImageValidatingPolicy" +
		" NamespacedMutatingPolicy NamespacedValidatingPolicy PolicyException",
		"DeletingPolicy GeneratingPolicy ImageValidatingPolicy MutatingPolicy ValidatingPolicy"},
	{"apiextensions.crossplane.io", "", "CompositeResourceDefinition Composition"},
	{"cert-manager.io", "", "ClusterIssuer"},
	{"cilium.io", "", "CiliumClusterwideNetworkPolicy CiliumLoadBalancerIPPool CiliumNode"},
	{"config.openshift.io", "", "APIServer ClusterVersion DNS Image Ingress OAuth Proxy Scheduler"},
	{"external-secrets.io", "", "ClusterExternalSecret ClusterPushSecret ClusterSecretStore"},
	{"gateway.networking.k8s.io", "", "GatewayClass"},
	{"pkg.crossplane.io", "", "Configuration Function Provider"},
	{"project.openshift.io", "", "Project"},
	{"security.openshift.io", "", "SecurityContextConstraints"},
	{"snapshot.storage.k8s.io", "", "VolumeSnapshotClass VolumeSnapshotContent"},
	{"trust.cert-manager.io", "", "Bundle"},
	{"user.openshift.io", "", "Group Identity User"},
}
