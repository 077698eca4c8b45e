package policy

// This file holds the kinds that are written in CEL: ValidatingPolicy and MutatingPolicy of
// policies.kyverno.io (https://kyverno.io/docs/policy-types/validating-policy/) and the policies of
// admissionregistration.k8s.io with their bindings
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/,
// https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/).

// Head is how a document of a kind in CEL begins that has no status.
type Head struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
}

// CELSpec is what the specs of all policies in CEL have.
type CELSpec struct {
	MatchConstraints *MatchResources  `json:"matchConstraints"`
	FailurePolicy    string           `json:"failurePolicy" enum:"Fail|Ignore"`
	MatchConditions  []MatchCondition `json:"matchConditions"`
	Variables        []CELVariable    `json:"variables"`
}

// ValidatingPolicy is a ValidatingPolicy or NamespacedValidatingPolicy of policies.kyverno.io.
type ValidatingPolicy = Object[map[string]any, ValidatingPolicySpec]

// ValidatingPolicySpec is what a ValidatingPolicy checks and how.
type ValidatingPolicySpec struct {
	CELSpec
	Validations          []CELValidation      `json:"validations"`
	AuditAnnotations     []CELAuditAnnotation `json:"auditAnnotations"`
	Autogen              *CELAutogen          `json:"autogen"`
	ValidationActions    []string             `json:"validationActions" enum:"Deny|Audit|Warn"`
	Evaluation           CELEvaluation        `json:"evaluation"`
	WebhookConfiguration any                  `json:"webhookConfiguration"`
}

// CELValidation is one expression that has to hold, with what to say when it does not.
type CELValidation struct {
	Expression        string `json:"expression"`
	Message           string `json:"message"`
	MessageExpression string `json:"messageExpression"`
	Reason            string `json:"reason" enum:"Unauthorized|Forbidden|Invalid|RequestEntityTooLarge"`
}

// CELAutogen says for which pod controllers a policy on Pods is repeated.
type CELAutogen struct {
	PodControllers            *CELPodControllers `json:"podControllers"`
	ValidatingAdmissionPolicy any                `json:"validatingAdmissionPolicy"`
	MutatingAdmissionPolicy   any                `json:"mutatingAdmissionPolicy"`
}

// CELPodControllers lists controllers by plural name; an absent list means all of them, an empty one
// means none.
type CELPodControllers struct {
	Controllers []string `json:"controllers"`
}

// CELEvaluation describes where a policy is evaluated.
type CELEvaluation struct {
	Mode           string    `json:"mode"`
	Admission      CELSwitch `json:"admission"`
	Background     CELSwitch `json:"background"`
	MutateExisting CELSwitch `json:"mutateExisting"`

	// UseServerSideApply lets apply configurations replace atomic lists and maps.
	UseServerSideApply bool `json:"useServerSideApply"`
	// SkipBackgroundRequests is about requests of Kyverno's background controller, which changes in Git never are.
	SkipBackgroundRequests *bool `json:"skipBackgroundRequests"`
}

// CELSwitch turns one way of evaluation on or off; absent means on.
type CELSwitch struct {
	Enabled *bool `json:"enabled"`
}

// MatchResources selects requests by their resource
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#matchresources-v1-admissionregistration-k8s-io).
type MatchResources struct {
	NamespaceSelector    *Selector      `json:"namespaceSelector"`
	ObjectSelector       *Selector      `json:"objectSelector"`
	ResourceRules        []ResourceRule `json:"resourceRules"`
	ExcludeResourceRules []ResourceRule `json:"excludeResourceRules"`
	MatchPolicy          string         `json:"matchPolicy"`
}

// ResourceRule is one line of what a policy is about. Every list may hold "*".
type ResourceRule struct {
	ResourceNames []string `json:"resourceNames"`
	Operations    []string `json:"operations"`
	APIGroups     []string `json:"apiGroups"`
	APIVersions   []string `json:"apiVersions"`
	Resources     []string `json:"resources"`
	Scope         string   `json:"scope" enum:"*|Cluster|Namespaced"`
}

// ValidatingAdmissionPolicy is the policy kind of Kubernetes itself.
type ValidatingAdmissionPolicy = Object[map[string]any, ValidatingAdmissionPolicySpec]

// ValidatingAdmissionPolicySpec is what a ValidatingAdmissionPolicy checks.
type ValidatingAdmissionPolicySpec struct {
	CELSpec
	ParamKind        *ParamKind           `json:"paramKind"`
	Validations      []CELValidation      `json:"validations"`
	AuditAnnotations []CELAuditAnnotation `json:"auditAnnotations"`
}

// ParamRef names or selects the parameter objects of a binding.
type ParamRef struct {
	Name                    string    `json:"name"`
	Namespace               string    `json:"namespace"`
	Selector                *Selector `json:"selector"`
	ParameterNotFoundAction string    `json:"parameterNotFoundAction"`
}

// BindingSpec is what the specs of all bindings have.
type BindingSpec struct {
	PolicyName     string          `json:"policyName"`
	ParamRef       *ParamRef       `json:"paramRef"`
	MatchResources *MatchResources `json:"matchResources"`
}

// ValidatingAdmissionPolicyBinding puts a ValidatingAdmissionPolicy into force.
type ValidatingAdmissionPolicyBinding struct {
	Head
	Spec struct {
		BindingSpec
		ValidationActions []string `json:"validationActions" enum:"Deny|Audit|Warn"`
	} `json:"spec"`
}

// MutatingPolicy is a MutatingPolicy or NamespacedMutatingPolicy of policies.kyverno.io.
type MutatingPolicy = Object[map[string]any, MutatingPolicySpec]

// MutatingPolicySpec is what a MutatingPolicy writes and when.
type MutatingPolicySpec struct {
	CELSpec
	Autogen                *CELAutogen          `json:"autogen"`
	TargetMatchConstraints any                  `json:"targetMatchConstraints"`
	TargetMatchConditions  []MatchCondition     `json:"targetMatchConditions"`
	AuditAnnotations       []CELAuditAnnotation `json:"auditAnnotations"`
	Mutations              []CELMutation        `json:"mutations"`
	WebhookConfiguration   any                  `json:"webhookConfiguration"`
	Evaluation             CELEvaluation        `json:"evaluation"`
	ReinvocationPolicy     string               `json:"reinvocationPolicy" enum:"Never|IfNeeded"`
}

// CELMutation is one patch of a MutatingPolicy.
type CELMutation struct {
	PatchType          string         `json:"patchType"`
	ApplyConfiguration *CELExpression `json:"applyConfiguration"`
	JSONPatch          *CELExpression `json:"jsonPatch"`
}

// CELExpression is an object that holds one expression.
type CELExpression struct {
	Expression string `json:"expression"`
}

// MutatingAdmissionPolicy is the mutating policy kind of Kubernetes itself.
type MutatingAdmissionPolicy = Object[map[string]any, MutatingAdmissionPolicySpec]

// MutatingAdmissionPolicySpec is what a MutatingAdmissionPolicy writes and when.
type MutatingAdmissionPolicySpec struct {
	CELSpec
	ParamKind          *ParamKind    `json:"paramKind"`
	Mutations          []CELMutation `json:"mutations"`
	ReinvocationPolicy string        `json:"reinvocationPolicy" enum:"Never|IfNeeded"`
}

// MutatingAdmissionPolicyBinding puts a MutatingAdmissionPolicy into force.
type MutatingAdmissionPolicyBinding struct {
	Head
	Spec BindingSpec `json:"spec"`
}
