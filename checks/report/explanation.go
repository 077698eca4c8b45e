package report

// Explanation explains a part of a report and what to do about it: a check, a cause, an error, or a policy of the
// repository.
type Explanation struct {
	Kind     ExplanationKind `json:"kind"`
	Name     string          `json:"name"`
	About    string          `json:"about"`              // one line
	Means    string          `json:"means,omitempty"`    // what it means for what is deployed
	ToDo     string          `json:"toDo,omitempty"`     // what a person does about it
	Printed  []string        `json:"printed,omitempty"`  // as a report says it; … stands for the parts that vary
	Severity string          `json:"severity,omitempty"` // of a check or a policy
	Level    string          `json:"level,omitempty"`    // of a check: off, warn or enforce, where the settings say nothing
	Setting  string          `json:"setting,omitempty"`  // the field of the settings that changes the level
	Wrong    string          `json:"wrong,omitempty"`    // files, each below a line "-- NAME --", in which the check finds something,
	Right    string          `json:"right,omitempty"`    // and the same files as they should be

	Category string   `json:"category,omitempty"` // of a policy, by its annotations
	Rules    []string `json:"rules,omitempty"`    // of a policy
	Path     string   `json:"path,omitempty"`     // of a policy
	Line     int      `json:"line,omitempty"`     // of a policy
}

// ExplanationKind is the kind of an explained thing.
type ExplanationKind string

// The kinds of explanations.
const (
	ExplainCheck   ExplanationKind = "check"
	ExplainMessage ExplanationKind = "message" // a cause, an error or a warning
	ExplainPolicy  ExplanationKind = "policy"
)
