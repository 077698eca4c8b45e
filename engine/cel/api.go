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
	"github.com/lintel-bot/lintel/engine/fix"
	"github.com/lintel-bot/lintel/engine/trace"
)

// Result is what a policy says about a request.
type Result struct {
	// Rule is empty for a ValidatingPolicy, "exception" where an exception skipped it, the name of the
	// policy for a ValidatingAdmissionPolicy, and the name of the rule for a rule: as Kyverno reports them.
	Rule    string
	Outcome admission.Outcome
	// Enforce is set where the policy denies what violates it, as opposed to auditing and warning. It is
	// also set for errors that the failure policy turns into a denial.
	Enforce bool
	Message string
	// Fields are RFC 6901 pointers, sorted and unique, into the object, or into the old object where Old is
	// set; "" where nothing narrower is known. Empty unless Outcome is Fail or Error.
	Fields []string
	Old    bool
	// Line is where in its file the validation, or the mutation, is written that decided; 0 where none did.
	Line int
	// Exceptions are those that made it pass or skip.
	Exceptions []*Exception
	// Combined is set where none of the exceptions alone would have made it pass.
	Combined bool
}

// Env is what an evaluation may use besides the request. Nil and zero values mean that nothing is known.
type Env struct {
	Cluster admission.Cluster
	// Exceptions may be of any policy: those that do not name the policy, and those that have expired by
	// Now, are left out.
	Exceptions []*Exception
	Now        time.Time
	Log        *trace.Log // takes what is looked at; likewise
	Sheet      *fix.Sheet // takes what is asked of the fields that fail; nil where nobody wants to know
}
