package engine

// compiled is a policy that can be evaluated. Each kind of policy has its implementation, and a row in the table of
// kinds that says how its documents are compiled.
type compiled interface {
	// reference returns which policy it is.
	reference() PolicyRef
	// ruleNames returns the names of its rules, none for a policy that is one rule.
	ruleNames() []string
	// bind returns what is evaluated of the policy, in order, with the exceptions that may be about it.
	bind(exceptions []*Exception) []step
	// expected returns what a rule asks of a field, see [Policies.Expected].
	// uses returns what a rule can use of exceptions.
	uses(rule string) Uses
}

// step is what of a policy is found by the kind of an object and evaluated at once: a rule, or a policy as a whole.
type step interface {
	// plurals returns the plural names of the kinds it can be about, nil for any.
	plurals() []string
	// nothing reports whether it names only kinds and versions that certainly do not exist.
	nothing() bool
	// phase returns when it has its turn.
	phase() phase
	// called returns which rule it is, empty for a policy as a whole, and its line.
	called() (rule string, line int)
	// explainMatch logs why it is not about the request.
	explainMatch(v *review)
	// evaluate adds the results to those of the review; none where it is not about the request.
	evaluate(v *review)
}

// phase is when in the way of a request through a cluster something is evaluated.
type phase int

const (
	mutatesFirst phase = iota // the API server runs its own policies before it asks others
	mutates
	validates
)

// whole is what policies that are CEL as a whole have in common: they are one rule, without a pattern.
type whole struct{ ref PolicyRef }

func (w *whole) reference() PolicyRef { return w.ref }
func (w *whole) ruleNames() []string  { return nil }

// panicked is the result of a policy that failed in a way nobody foresaw.
func (w *whole) panicked(x any, mutation bool) []Result {
	return []Result{{
		Policy: w.ref, Line: w.ref.Line, Outcome: Error, Enforce: true, Message: panicked(x), Fields: []string{""},
		Mutation: mutation,
	}}
}
