package policy

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What policies write as Kubernetes does.
type (
	// Selector is a label selector. In policies with rules Kyverno allows wildcards in the keys and values of MatchLabels.
	Selector            = metav1.LabelSelector
	SelectorRequirement = metav1.LabelSelectorRequirement
	Subject             = rbacv1.Subject

	// MatchCondition is a named expression that has to hold for a policy or an exception to apply, CELVariable one that is
	// evaluated when it is first used. ParamKind is the kind of the objects that parametrize a policy.
	MatchCondition = admissionv1.MatchCondition
	CELVariable    = admissionv1.Variable
	ParamKind      = admissionv1.ParamKind
)

// CELAuditAnnotation is compiled and not evaluated.
type CELAuditAnnotation struct {
	Key             string `json:"key" required:"text"`
	ValueExpression string `json:"valueExpression" required:"true"`
}

// Metadata is the part of an object's metadata that a file may set. What only the API server writes is
// accepted, since exported objects have it, and ignored.
type Metadata struct {
	Name            string            `json:"name"`
	GenerateName    string            `json:"generateName"`
	Namespace       string            `json:"namespace"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Finalizers      any               `json:"finalizers"`
	OwnerReferences any               `json:"ownerReferences"`

	UID                        any `json:"uid"`
	ResourceVersion            any `json:"resourceVersion"`
	Generation                 any `json:"generation"`
	CreationTimestamp          any `json:"creationTimestamp"`
	DeletionTimestamp          any `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds any `json:"deletionGracePeriodSeconds"`
	ManagedFields              any `json:"managedFields"`
	SelfLink                   any `json:"selfLink"`
	ClusterName                any `json:"clusterName"`
}

// Object is a document with a spec and a status, and with what is read of its metadata.
type Object[M, S any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   M      `json:"metadata"`
	Spec       S      `json:"spec"`
	Status     any    `json:"status"`
}

// ClusterPolicy is a ClusterPolicy or a Policy of kyverno.io
// (https://kyverno.io/docs/policy-types/cluster-policy/).
type ClusterPolicy = Object[Metadata, Spec]

// Spec is the spec of a policy.
type Spec struct {
	Rules      []Rule `json:"rules"`
	ApplyRules string `json:"applyRules" enum:"All|One"`
	Admission  *bool  `json:"admission"`
	Background *bool  `json:"background"`

	// Deprecated in favor of the fields of the same meaning under a rule's validate.
	ValidationFailureAction          string                  `json:"validationFailureAction" enum:"Enforce|enforce|Audit|audit"`
	ValidationFailureActionOverrides []FailureActionOverride `json:"validationFailureActionOverrides"`

	FailurePolicy                  string                `json:"failurePolicy" enum:"Ignore|Fail"`
	EmitWarning                    *bool                 `json:"emitWarning"`
	SchemaValidation               *bool                 `json:"schemaValidation"`
	WebhookTimeoutSeconds          *int32                `json:"webhookTimeoutSeconds"`
	WebhookConfiguration           *WebhookConfiguration `json:"webhookConfiguration"`
	MutateExistingOnPolicyUpdate   *bool                 `json:"mutateExistingOnPolicyUpdate"`
	GenerateExistingOnPolicyUpdate *bool                 `json:"generateExistingOnPolicyUpdate"`
	GenerateExisting               *bool                 `json:"generateExisting"`
	UseServerSideApply             *bool                 `json:"useServerSideApply"`
}

// WebhookConfiguration describes how the API server would call a policy. The match conditions are CEL over the
// request; a request that does not meet them never reaches the policy.
type WebhookConfiguration struct {
	FailurePolicy   string           `json:"failurePolicy" enum:"Ignore|Fail"`
	TimeoutSeconds  *int32           `json:"timeoutSeconds"`
	MatchConditions []MatchCondition `json:"matchConditions"`
}

// FailureActionOverride replaces the failure action for namespaces that it names (wildcards allowed) and
// whose labels its selector takes.
type FailureActionOverride struct {
	Action            string    `json:"action" enum:"Enforce|enforce|Audit|audit"`
	Namespaces        []string  `json:"namespaces"`
	NamespaceSelector *Selector `json:"namespaceSelector"`
}

// Rule is one rule of a policy. Exactly one of its bodies is set.
type Rule struct {
	Name                   string            `json:"name"`
	Context                []ContextEntry    `json:"context"`
	ReportProperties       map[string]string `json:"reportProperties"`
	Match                  Match             `json:"match"`
	Exclude                *Match            `json:"exclude"`
	ImageExtractors        any               `json:"imageExtractors"`
	Preconditions          any               `json:"preconditions"`
	CELPreconditions       []MatchCondition  `json:"celPreconditions"`
	SkipBackgroundRequests *bool             `json:"skipBackgroundRequests"`

	Validate     *Validation `json:"validate"`
	Mutate       *Mutation   `json:"mutate"`
	Generate     any         `json:"generate"`
	VerifyImages any         `json:"verifyImages"`
}

// Match is a match or exclude block: any or all filters, or (the older form) one filter written directly.
type Match struct {
	Any            []ResourceFilter `json:"any"`
	All            []ResourceFilter `json:"all"`
	ResourceFilter `json:",inline"`
}

// Filters lists the filters of the block, the one written directly first.
func (m Match) Filters() []ResourceFilter {
	return slices.Concat([]ResourceFilter{m.ResourceFilter}, m.Any, m.All)
}

// ResourceFilter takes requests by what they are about and by who makes them.
type ResourceFilter struct {
	UserInfo  `json:",inline"`
	Resources Resources `json:"resources"`
}

// UserInfo takes requests by who makes them.
type UserInfo struct {
	Roles        []string  `json:"roles"`
	ClusterRoles []string  `json:"clusterRoles"`
	Subjects     []Subject `json:"subjects"`
}

// SelectsUsers reports whether it takes only requests of some users.
func (u UserInfo) SelectsUsers() bool { return len(u.Roles)+len(u.ClusterRoles)+len(u.Subjects) > 0 }

// Resources takes requests by the object they are about.
type Resources struct {
	Kinds             []string          `json:"kinds"`
	Name              string            `json:"name"`
	Names             []string          `json:"names"`
	Namespaces        []string          `json:"namespaces"`
	Annotations       map[string]string `json:"annotations"`
	Selector          *Selector         `json:"selector"`
	NamespaceSelector *Selector         `json:"namespaceSelector"`
	Operations        []string          `json:"operations" enum:"CREATE|UPDATE|DELETE|CONNECT"`
}

// ContextEntry is a variable of a rule. Exactly one source is set.
type ContextEntry struct {
	Name            string           `json:"name"`
	Variable        *Variable        `json:"variable"`
	ConfigMap       *ConfigMapRef    `json:"configMap"`
	APICall         *APICall         `json:"apiCall"`
	GlobalReference *GlobalReference `json:"globalReference"`
	ImageRegistry   *ImageRegistry   `json:"imageRegistry"`
}

// Variable is a value, a JMESPath expression over it (or, without a value, over all variables), and what
// takes its place when nothing is found.
type Variable struct {
	Value    any    `json:"value"`
	JMESPath string `json:"jmesPath"`
	Default  any    `json:"default"`
}

// ConfigMapRef names a ConfigMap; both fields may hold variables.
type ConfigMapRef struct {
	Name      string `json:"name" required:"text"`
	Namespace string `json:"namespace"`
}

// APICall is a call of the Kubernetes API server (URLPath) or of a service.
type APICall struct {
	URLPath  string        `json:"urlPath"`
	Method   string        `json:"method" enum:"GET|POST"`
	Data     []RequestData `json:"data"`
	Service  *ServiceCall  `json:"service"`
	JMESPath string        `json:"jmesPath"`
	Default  any           `json:"default"`
}

// RequestData is a field of what a POST sends.
type RequestData struct {
	Key   string `json:"key" required:"true"`
	Value any    `json:"value" required:"true"`
}

// ServiceCall is a call over HTTP.
type ServiceCall struct {
	URL      string `json:"url" required:"text"`
	CABundle string `json:"caBundle"`
	Headers  []struct {
		Key   string `json:"key" required:"true"`
		Value string `json:"value" required:"true"`
	} `json:"headers"`
}

// GlobalReference names a GlobalContextEntry.
type GlobalReference struct {
	Name     string `json:"name" required:"text"`
	JMESPath string `json:"jmesPath"`
}

// ImageRegistry asks a registry about an image.
type ImageRegistry struct {
	Reference                string `json:"reference" required:"text"`
	JMESPath                 string `json:"jmesPath"`
	ImageRegistryCredentials *struct {
		AllowInsecureRegistry bool     `json:"allowInsecureRegistry"`
		Providers             []string `json:"providers" enum:"default|amazon|azure|google|github"`
		Secrets               []string `json:"secrets"`
	} `json:"imageRegistryCredentials"`
}

// Validation is the body of a validate rule.
type Validation struct {
	FailureAction                    string                  `json:"failureAction" enum:"Enforce|enforce|Audit|audit"`
	FailureActionOverrides           []FailureActionOverride `json:"failureActionOverrides"`
	ValidationFailureAction          string                  `json:"validationFailureAction" enum:"Enforce|enforce|Audit|audit"`
	ValidationFailureActionOverrides []FailureActionOverride `json:"validationFailureActionOverrides"`
	AllowExistingViolations          *bool                   `json:"allowExistingViolations"`

	Message     string       `json:"message"`
	Manifests   any          `json:"manifests"`
	ForEach     []ForEach    `json:"foreach"`
	Pattern     any          `json:"pattern"`
	AnyPattern  any          `json:"anyPattern"`
	Deny        *Deny        `json:"deny"`
	PodSecurity *PodSecurity `json:"podSecurity"`
	CEL         *CEL         `json:"cel"`
	Assert      any          `json:"assert"`
}

// Deny refuses requests that meet its conditions; without conditions all.
type Deny struct {
	Conditions any `json:"conditions"`
}

// ForEach is one entry of validate.foreach.
type ForEach struct {
	List          string         `json:"list"`
	ElementScope  *bool          `json:"elementScope"`
	Context       []ContextEntry `json:"context"`
	Preconditions any            `json:"preconditions"`
	Pattern       any            `json:"pattern"`
	AnyPattern    any            `json:"anyPattern"`
	Deny          *Deny          `json:"deny"`
	ForEach       []ForEach      `json:"foreach"`
}

// PodSecurity checks a pod against a Pod Security Standard
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
type PodSecurity struct {
	Level   string               `json:"level"`
	Version string               `json:"version"`
	Exclude []PodSecurityControl `json:"exclude"`
}

// PodSecurityControl exempts a control, as podSecurity.exclude of a policy and podSecurity of an exception write it. With
// images, it is about the containers that run one of them (wildcards allowed); without, about the fields of the pod. With
// a restricted field, only that field is exempt; with values, only where it holds nothing but these (wildcards allowed).
type PodSecurityControl struct {
	ControlName     string   `json:"controlName"`
	Images          []string `json:"images"`
	RestrictedField string   `json:"restrictedField"`
	Values          []string `json:"values"`
}

// CEL is the body of a validate.cel rule, whose parts are those of a ValidatingAdmissionPolicy
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
type CEL struct {
	Generate         *bool                `json:"generate"`
	Expressions      []CELValidation      `json:"expressions"`
	ParamKind        *ParamKind           `json:"paramKind"`
	ParamRef         *ParamRef            `json:"paramRef"`
	AuditAnnotations []CELAuditAnnotation `json:"auditAnnotations"`
	Variables        []CELVariable        `json:"variables"`
}

// Mutation is the body of a mutate rule. With targets it changes other objects of the cluster, which a
// check before merge does not do.
type Mutation struct {
	MutateExistingOnPolicyUpdate *bool             `json:"mutateExistingOnPolicyUpdate"`
	Targets                      any               `json:"targets"`
	PatchStrategicMerge          any               `json:"patchStrategicMerge"`
	PatchesJSON6902              string            `json:"patchesJson6902"`
	ForEach                      []ForEachMutation `json:"foreach"`
}

// ForEachMutation is one entry of mutate.foreach.
type ForEachMutation struct {
	List                string            `json:"list"`
	Order               string            `json:"order" enum:"Ascending|Descending"`
	Context             []ContextEntry    `json:"context"`
	Preconditions       any               `json:"preconditions"`
	PatchStrategicMerge any               `json:"patchStrategicMerge"`
	PatchesJSON6902     string            `json:"patchesJson6902"`
	ForEach             []ForEachMutation `json:"foreach"`
}

// PolicyException is the exception kind of kyverno.io
// (https://kyverno.io/docs/exceptions/).
type PolicyException = Object[Metadata, ExceptionSpec]

// ExceptionSpec describes which rules do not count for which requests.
type ExceptionSpec struct {
	Background  *bool                `json:"background"`
	Match       Match                `json:"match"`
	Conditions  any                  `json:"conditions"`
	Exceptions  []ExceptionRef       `json:"exceptions"`
	PodSecurity []PodSecurityControl `json:"podSecurity"`
}

// ExceptionRef names a policy (namespace/name for a namespaced one) and rules of it; rule names may hold
// wildcards.
type ExceptionRef struct {
	PolicyName string   `json:"policyName"`
	RuleNames  []string `json:"ruleNames"`
}
