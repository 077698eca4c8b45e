package policy

// This file holds the mutating kinds of Kubernetes itself
// (https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/).

// MutatingAdmissionPolicy is the mutating policy kind of Kubernetes itself.
type MutatingAdmissionPolicy struct {
	APIVersion string                      `json:"apiVersion"`
	Kind       string                      `json:"kind"`
	Metadata   map[string]any              `json:"metadata,omitempty"`
	Spec       MutatingAdmissionPolicySpec `json:"spec"`
	Status     any                         `json:"status,omitempty"`
}

// MutatingAdmissionPolicySpec is what a MutatingAdmissionPolicy writes and when.
type MutatingAdmissionPolicySpec struct {
	ParamKind          *ParamKind       `json:"paramKind,omitempty"`
	MatchConstraints   *MatchResources  `json:"matchConstraints,omitempty"`
	Variables          []CELVariable    `json:"variables,omitempty"`
	Mutations          []CELMutation    `json:"mutations,omitempty"`
	FailurePolicy      string           `json:"failurePolicy,omitempty"`
	MatchConditions    []MatchCondition `json:"matchConditions,omitempty"`
	ReinvocationPolicy string           `json:"reinvocationPolicy,omitempty"`
}

// MutatingAdmissionPolicyBinding puts a MutatingAdmissionPolicy into force.
type MutatingAdmissionPolicyBinding struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Spec       struct {
		PolicyName     string          `json:"policyName"`
		ParamRef       *ParamRef       `json:"paramRef,omitempty"`
		MatchResources *MatchResources `json:"matchResources,omitempty"`
	} `json:"spec"`
}
