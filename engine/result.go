package engine

import (
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Outcome is what a rule said about a request.
type Outcome = admission.Outcome

// The outcomes. Unknown means that the rule needs data only the cluster has; it is not a pass.
const (
	Pass    = admission.Pass
	Fail    = admission.Fail
	Skip    = admission.Skip
	Error   = admission.Error
	Unknown = admission.Unknown
)

// PolicyRef names the policy a result is of and where it is written.
type PolicyRef struct {
	APIVersion, Kind, Namespace, Name string
	Path                              string
	Line                              int
	Severity, Category                string // annotations policies.kyverno.io/severity and /category
	// Unscored: the annotation policies.kyverno.io/scored is "false", reports show failures as warnings.
	Unscored bool
	// Inherited: see policy.Source.
	Inherited bool
}

// Result is what one rule said about one request.
type Result struct {
	Policy  PolicyRef
	Rule    string
	Outcome Outcome
	Enforce bool   // a failure blocks; else it is an audit finding
	Unsure  bool   // Enforce depends on the namespace, which is not known
	Message string // in Kyverno's words where it has them

	// Line is where in the file of the policy the rule is written; of a policy in CEL the validation that
	// failed, or else the policy itself.
	Line int

	// Fields are RFC 6901 pointers of all failing fields, into the object, or into the old object when Old
	// is set. The pointer "" is the whole object: nothing narrower is known.
	Fields []string
	Old    bool

	// Exceptions are those that made the rule skip (or, for CEL and pod security, pass).
	Exceptions []*Exception
	// Combined means that more than one exception was needed, which together may allow what none of them allows alone.
	Combined bool

	// Warn means that the policy asks for a warning to whoever makes the request.
	Warn bool

	// PreExisting means that the old object of an update violates the rule, too. Tolerated says that the rule
	// lets such an update through (allowExistingViolations): a cluster would not deny it.
	PreExisting bool
	Tolerated   bool
	Refused     bool // the rule denies an update of such an object with allowExistingViolations: false
	// Personal means that the failure is about who asks: the rule selects requests by their users, or asks for the user and
	// nothing in the object decides. Nobody knows who wrote the old object, so that it says nothing about it.
	Personal bool

	// Mutation means that the rule is a mutate rule; Patched is then the object after it, nil where the rule did not
	// apply.
	Mutation bool
	Patched  admission.Object
}

// PolicyInfo describes a compiled policy.
type PolicyInfo struct {
	PolicyRef
	Rules []string // as written and as generated for pod controllers
	// MatchesNothing is set where no kind that the policy names exists: each is a misspelled one of Kubernetes.
	MatchesNothing bool
}

// Options are the inputs of a compilation that are not in files.
type Options struct {
	Now time.Time // the clock of the check, for time functions of policies
	// Bound leaves out a MutatingAdmissionPolicy that no binding names, as the API server does. Kyverno's command line
	// evaluates it. A ValidatingAdmissionPolicy without a binding enforces nothing in either case.
	Bound bool
}
