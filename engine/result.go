package engine

import (
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
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

// Decision is the part of a result that does not depend on the language of the rule.
type Decision = cel.Decision

// Result is what one rule said about one request.
type Result struct {
	Decision // its line is that of the policy itself where no rule or validation decided
	Policy   PolicyRef
	Unsure   bool // Enforce depends on the namespace, which is not known

	// Exceptions are those that made the rule skip (or, for CEL and pod security, pass).
	Exceptions []*Exception

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

	Mutation bool // the rule is a mutate rule
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
