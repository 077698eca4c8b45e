package policy

// CELException is a PolicyException of policies.kyverno.io: it exempts resources from policies written
// in CEL (https://kyverno.io/docs/guides/exceptions/).
type CELException struct {
	Head
	Spec CELExceptionSpec `json:"spec"`
}

// CELExceptionSpec describes which policies are meant, for which requests, and what is let through. With
// neither images nor allowed values the policies are skipped.
type CELExceptionSpec struct {
	PolicyRefs      []CELPolicyRef   `json:"policyRefs"`
	MatchConditions []MatchCondition `json:"matchConditions"`
	Images          []string         `json:"images"`
	// AllowedValues is a list of strings, or a map of names to lists of strings.
	AllowedValues any `json:"allowedValues"`
	// ReportResult is the result a report shows for the exempted: "skip" or "pass".
	ReportResult string `json:"reportResult" enum:"skip|pass"`
	// ExpiresAt is an RFC 3339 date-time; empty means never.
	ExpiresAt string `json:"expiresAt"`
	// Properties say to people why there is the exception.
	Properties map[string]string `json:"properties"`
	// EvaluationMode says which controller is in charge. Kyverno reads it nowhere.
	EvaluationMode string `json:"evaluationMode"`
}

// HasValues reports whether the exception allows values.
func (s CELExceptionSpec) HasValues() bool {
	switch v := s.AllowedValues.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// CELPolicyRef names a policy of policies.kyverno.io.
type CELPolicyRef struct {
	Name string `json:"name" required:"text"`
	Kind string `json:"kind" required:"text"`
}
