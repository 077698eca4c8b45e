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

// Result is the result of a policy for a request.
type Result struct {
	// Rule is empty for a ValidatingPolicy, "exception" if an exception skipped it, the name of the policy for a
	// ValidatingAdmissionPolicy, and the name of the rule for a rule, as in Kyverno's reports.
	Rule    string
	Outcome admission.Outcome
	// Enforce is set if the policy denies violations, instead of auditing or warning. It is also set for errors that
	// the failure policy turns into a denial.
	Enforce bool
	Message string
	// Fields are RFC 6901 pointers, sorted and unique, into the object, or into the old object if Old is set; "" if
	// nothing more precise is known. Empty unless Outcome is Fail or Error.
	Fields []string
	Old    bool
	// Line is the line of the validation or mutation that decided; 0 if none did.
	Line int
	// Exceptions are the exceptions that caused the pass or skip.
	Exceptions []*Exception
	// Combined is set if no single one of the exceptions would have been enough to pass.
	Combined bool
	// Patched is the object after a mutation: that of the request if nothing was changed, nil if the policy did not apply.
	Patched admission.Object
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
