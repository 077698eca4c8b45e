package engine

// compiled is a policy that can be evaluated. Each kind of policy has an implementation, and an entry in the table of
// kinds with the function that compiles its documents.
type compiled interface {
	// reference returns the reference to the policy.
	reference() PolicyRef
	// ruleNames returns the names of its rules, none for a policy that is one rule.
	ruleNames() []string
	// bind returns the steps that evaluate the policy, in order, with the exceptions that may apply to it.
	bind(exceptions []*Exception) []step
	// expected returns what a rule requires of a field, see [Policies.Expected]. uses returns what a rule can use of
	// exceptions.
	uses(rule string) Uses
}

// step is a unit of evaluation, which is found by the kind of an object: a rule, or a whole policy.
type step interface {
	// plurals returns the plural names of the kinds it can apply to, nil for any.
	plurals() []string
	// nothing reports whether it names only kinds and versions that certainly do not exist.
	nothing() bool
	// phase returns the phase in which it is evaluated.
	phase() phase
	// called returns the name of the rule, empty for a whole policy, and its line.
	called() (rule string, line int)
	// explainMatch logs why it does not apply to the request.
	explainMatch(v *review)
	// evaluate adds its results to those of the review. It adds none if it does not apply to the request.
	evaluate(v *review)
}

// phase is the stage of a request in a cluster at which something is evaluated.
type phase int

const (
	mutatesFirst phase = iota // the API server runs its own policies before it asks others
	mutates
	validates
)
