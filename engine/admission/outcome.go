package admission

// Outcome is what a rule says about a request.
type Outcome string

// The outcomes. Unknown means that the rule needs something that the repository does not declare; it is not a pass.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Skip    Outcome = "skip"
	Error   Outcome = "error"
	Unknown Outcome = "unknown"
)
