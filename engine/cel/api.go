// Package cel compiles and evaluates policies written in the Common Expression Language: ValidatingPolicy of
// policies.kyverno.io, ValidatingAdmissionPolicy of Kubernetes, the validate.cel rules of kyverno.io, and the
// exceptions of policies.kyverno.io.
//
// Compiled policies are immutable and safe for concurrent use. What only a cluster knows makes a result
// unknown, never a pass.
package cel

import (
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
)

// Decision is what a rule says about a request, in whatever language it is written.
type Decision struct {
	// Rule is empty for a ValidatingPolicy, "exception" if an exception skipped it, the name of the policy for a
	// ValidatingAdmissionPolicy, and the name of the rule for a rule, as in Kyverno's reports.
	Rule    string
	Outcome admission.Outcome
	// Enforce is set if the policy denies violations, instead of auditing or warning. It is also set for errors that
	// the failure policy turns into a denial.
	Enforce bool
	Message string // in Kyverno's words where it has them
	// Fields are RFC 6901 pointers of all failing fields, sorted and unique, into the object, or into the old object if
	// Old is set. The pointer "" is the whole object: nothing narrower is known.
	Fields []string
	Old    bool
	// Line is where in the file of the policy the rule is written; of a policy in CEL the validation or mutation that
	// decided.
	Line int
	// Combined means that more than one exception was needed, which together may allow what none of them allows alone.
	Combined bool
	// Patched is the object after a mutation: that of the request if nothing was changed, nil if the rule did not apply.
	Patched admission.Object
}

// Result is the result of a policy for a request.
type Result struct {
	Decision
	Exceptions []*Exception // those that caused the pass or skip
}

// Env has what an evaluation may use besides the request. Nil and zero values mean that it is not known.
type Env struct {
	Cluster admission.Cluster
	// Exceptions may be of any policy: those that do not name the policy, and those that have expired by
	// Now, are left out.
	Exceptions []*Exception
	Now        time.Time
	Log        *explain.Log   // takes what is looked at; likewise
	Sheet      *explain.Sheet // takes what is asked of the fields that fail; nil where nobody wants to know
}
