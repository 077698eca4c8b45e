package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// This file holds the kinds that are written in CEL: ValidatingPolicy and MutatingPolicy of
// policies.kyverno.io (https://kyverno.io/docs/policy-types/validating-policy/) and
// ValidatingAdmissionPolicy with its binding of admissionregistration.k8s.io
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).

// ValidatingPolicy is a ValidatingPolicy or NamespacedValidatingPolicy of policies.kyverno.io.
type ValidatingPolicy struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	Metadata   map[string]any       `json:"metadata,omitempty"`
	Spec       ValidatingPolicySpec `json:"spec"`
	Status     any                  `json:"status,omitempty"`
}

// ValidatingPolicySpec is what a ValidatingPolicy checks and how.
type ValidatingPolicySpec struct {
	MatchConstraints     *MatchResources      `json:"matchConstraints,omitempty"`
	Validations          []CELValidation      `json:"validations,omitempty"`
	FailurePolicy        string               `json:"failurePolicy,omitempty"`
	AuditAnnotations     []CELAuditAnnotation `json:"auditAnnotations,omitempty"`
	MatchConditions      []MatchCondition     `json:"matchConditions,omitempty"`
	Variables            []CELVariable        `json:"variables,omitempty"`
	Autogen              *CELAutogen          `json:"autogen,omitempty"`
	ValidationActions    []string             `json:"validationActions,omitempty"`
	Evaluation           *CELEvaluation       `json:"evaluation,omitempty"`
	WebhookConfiguration any                  `json:"webhookConfiguration,omitempty"`
}

// CELValidation is one expression that has to hold, with what to say when it does not.
type CELValidation struct {
	Expression        string `json:"expression"`
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
	Reason            string `json:"reason,omitempty"`
}

// CELAuditAnnotation is an annotation of the audit event; it is compiled and not evaluated.
type CELAuditAnnotation struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

// MatchCondition is a named expression that has to hold for a policy or an exception to apply.
type MatchCondition struct {
	Name       string `json:"name,omitempty"`
	Expression string `json:"expression"`
}

// CELVariable is a named expression, evaluated when it is first used.
type CELVariable struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// CELAutogen says for which pod controllers a policy on Pods is repeated.
type CELAutogen struct {
	PodControllers            *CELPodControllers `json:"podControllers,omitempty"`
	ValidatingAdmissionPolicy any                `json:"validatingAdmissionPolicy,omitempty"`
	MutatingAdmissionPolicy   any                `json:"mutatingAdmissionPolicy,omitempty"`
}

// CELPodControllers lists controllers by plural name; an absent list means all of them, an empty one
// means none.
type CELPodControllers struct {
	Controllers []string `json:"controllers"`
}

// CELEvaluation says where a policy is evaluated.
type CELEvaluation struct {
	Mode           string     `json:"mode,omitempty"`
	Admission      *CELSwitch `json:"admission,omitempty"`
	Background     *CELSwitch `json:"background,omitempty"`
	MutateExisting *CELSwitch `json:"mutateExisting,omitempty"`

	// UseServerSideApply lets apply configurations replace atomic lists and maps.
	UseServerSideApply bool `json:"useServerSideApply,omitempty"`
}

// CELSwitch turns one way of evaluation on or off; absent means on.
type CELSwitch struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// MatchResources selects requests by their resource
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#matchresources-v1-admissionregistration-k8s-io).
type MatchResources struct {
	NamespaceSelector    *CELSelector   `json:"namespaceSelector,omitempty"`
	ObjectSelector       *CELSelector   `json:"objectSelector,omitempty"`
	ResourceRules        []ResourceRule `json:"resourceRules,omitempty"`
	ExcludeResourceRules []ResourceRule `json:"excludeResourceRules,omitempty"`
	MatchPolicy          string         `json:"matchPolicy,omitempty"`
}

// ResourceRule is one line of what a policy is about. Every list may hold "*".
type ResourceRule struct {
	ResourceNames []string `json:"resourceNames,omitempty"`
	Operations    []string `json:"operations,omitempty"`
	APIGroups     []string `json:"apiGroups,omitempty"`
	APIVersions   []string `json:"apiVersions,omitempty"`
	Resources     []string `json:"resources,omitempty"`
	Scope         string   `json:"scope,omitempty"`
}

// CELSelector is a label selector as Kubernetes writes it.
type CELSelector struct {
	MatchLabels      map[string]string        `json:"matchLabels,omitempty"`
	MatchExpressions []CELSelectorRequirement `json:"matchExpressions,omitempty"`
}

// CELSelectorRequirement is one expression of a label selector.
type CELSelectorRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// ValidatingAdmissionPolicy is the policy kind of Kubernetes itself.
type ValidatingAdmissionPolicy struct {
	APIVersion string                        `json:"apiVersion"`
	Kind       string                        `json:"kind"`
	Metadata   map[string]any                `json:"metadata,omitempty"`
	Spec       ValidatingAdmissionPolicySpec `json:"spec"`
	Status     any                           `json:"status,omitempty"`
}

// ValidatingAdmissionPolicySpec is what a ValidatingAdmissionPolicy checks.
type ValidatingAdmissionPolicySpec struct {
	ParamKind        *ParamKind           `json:"paramKind,omitempty"`
	MatchConstraints *MatchResources      `json:"matchConstraints,omitempty"`
	Validations      []CELValidation      `json:"validations,omitempty"`
	FailurePolicy    string               `json:"failurePolicy,omitempty"`
	AuditAnnotations []CELAuditAnnotation `json:"auditAnnotations,omitempty"`
	MatchConditions  []MatchCondition     `json:"matchConditions,omitempty"`
	Variables        []CELVariable        `json:"variables,omitempty"`
}

// ParamKind is the kind of the objects that parametrize a policy.
type ParamKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// ParamRef names or selects the parameter objects of a binding.
type ParamRef struct {
	Name                    string       `json:"name,omitempty"`
	Namespace               string       `json:"namespace,omitempty"`
	Selector                *CELSelector `json:"selector,omitempty"`
	ParameterNotFoundAction string       `json:"parameterNotFoundAction,omitempty"`
}

// ValidatingAdmissionPolicyBinding puts a ValidatingAdmissionPolicy into force.
type ValidatingAdmissionPolicyBinding struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Spec       struct {
		PolicyName        string          `json:"policyName"`
		ParamRef          *ParamRef       `json:"paramRef,omitempty"`
		MatchResources    *MatchResources `json:"matchResources,omitempty"`
		ValidationActions []string        `json:"validationActions,omitempty"`
	} `json:"spec"`
}

// MutatingPolicy is a MutatingPolicy or NamespacedMutatingPolicy of policies.kyverno.io.
type MutatingPolicy struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Metadata   map[string]any     `json:"metadata,omitempty"`
	Spec       MutatingPolicySpec `json:"spec"`
	Status     any                `json:"status,omitempty"`
}

// MutatingPolicySpec is what a MutatingPolicy writes and when.
type MutatingPolicySpec struct {
	MatchConstraints       *MatchResources      `json:"matchConstraints,omitempty"`
	FailurePolicy          string               `json:"failurePolicy,omitempty"`
	MatchConditions        []MatchCondition     `json:"matchConditions,omitempty"`
	Variables              []CELVariable        `json:"variables,omitempty"`
	Autogen                *CELAutogen          `json:"autogen,omitempty"`
	TargetMatchConstraints any                  `json:"targetMatchConstraints,omitempty"`
	TargetMatchConditions  []MatchCondition     `json:"targetMatchConditions,omitempty"`
	AuditAnnotations       []CELAuditAnnotation `json:"auditAnnotations,omitempty"`
	Mutations              []CELMutation        `json:"mutations,omitempty"`
	WebhookConfiguration   any                  `json:"webhookConfiguration,omitempty"`
	Evaluation             *CELEvaluation       `json:"evaluation,omitempty"`
	ReinvocationPolicy     string               `json:"reinvocationPolicy,omitempty"`
}

// CELMutation is one patch of a MutatingPolicy.
type CELMutation struct {
	PatchType          string         `json:"patchType,omitempty"`
	ApplyConfiguration *CELExpression `json:"applyConfiguration,omitempty"`
	JSONPatch          *CELExpression `json:"jsonPatch,omitempty"`
}

// CELExpression is an object that holds one expression.
type CELExpression struct {
	Expression string `json:"expression"`
}

// TextPosition is where a place inside the string behind a pointer is written; line and column count from 1
// within the string. The column is 0 where the way the string is written (block scalars, escapes, folded
// lines) leaves only the line certain.
func (d Document) TextPosition(pointer string, line, column int) (int, int) {
	n := d.Node
	for token := range jsonpointer.Tokens(pointer) {
		if n = child(n, token); n == nil {
			return d.Position(pointer)
		}
	}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		return n.Line + line, 0
	case n.Style&yaml.FoldedStyle != 0:
		return n.Line + 1, 0
	case line > 1 || strings.Contains(n.Value, "\n"):
		return n.Line, 0
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return n.Line, n.Column + column
	}
	return n.Line, n.Column + column - 1
}
