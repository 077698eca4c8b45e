// Package explain is what an evaluation tells beside its outcome, as data: in a log, what was looked at, whether it
// held, and the values that decided; on a sheet, what a rule requires of the fields that fail it, in words and as values
// to try.
//
// Whoever evaluates (blocks that match, conditions, patterns, expressions) writes into them. Mostly there are none: all
// ask first whether anybody wants to know, and do nothing else then. The engine tries the values of a sheet before it
// suggests them.
package explain

import (
	"slices"
	"strconv"
)

// Part is the part of a rule that was evaluated.
type Part string

// The parts.
const (
	Match         Part = "match"           // which requests the rule is about
	Exclude       Part = "exclude"         // which of those it is not about
	Namespace     Part = "namespace"       // the one that a namespaced policy is in
	Conditions    Part = "matchConditions" // of the policy, in CEL; celPreconditions of a rule
	Once          Part = "applyRules"      // another rule of the policy was enough
	Preconditions Part = "preconditions"
	Deny          Part = "deny"
	Pattern       Part = "pattern"
	AnyPattern    Part = "anyPattern"
	ForEach       Part = "foreach"
	Assert        Part = "assert"
	PodSecurity   Part = "podSecurity"
	Validation    Part = "validation" // an expression in CEL
	Variable      Part = "variable"   // likewise
	Mutate        Part = "mutate"
	Exception     Part = "exception"
	Before        Part = "oldObject" // whether an update violated the rule before
)

// Step is one thing that was evaluated.
type Step struct {
	Part Part
	// At is where it is written: a pointer (RFC 6901) into the rule, or an index if the part has several.
	At    string
	Line  int    // likewise, in the file of the policy; 0 where only that of the rule is known
	Holds bool   // for what denies: it does not
	Words string // what is asked, and what was found, without the values
	// Values are the values of both sides. They are not copied, and may be the object itself.
	Values []Value
	Err    error // what kept it from being decided
}

// Value is a value at the time of the evaluation.
type Value struct {
	Name  string
	Value any // JSON
}

// maxSteps is how many steps of one rule are kept.
const maxSteps = 200

// Log collects the steps of one rule. A nil Log collects nothing.
type Log struct {
	steps  []Step
	within string // what steps are a part of
	more   int    // that were too many
}

// On reports whether steps are collected: if not, they need not be created.
func (l *Log) On() bool { return l != nil }

// Add adds steps.
func (l *Log) Add(steps ...Step) {
	if l == nil {
		return
	}
	for _, s := range steps {
		if len(l.steps) >= maxSteps {
			l.more++
			continue
		}
		s.At = l.within + s.At
		l.steps = append(l.steps, s)
	}
}

// Within marks the following steps as belonging to one of several parts, until the returned function is called.
func (l *Log) Within(at string, i int) (end func()) {
	if l == nil {
		return func() {}
	}
	before := l.within
	l.within += at + strconv.Itoa(i)
	return func() { l.within = before }
}

// Steps returns the steps so far.
func (l *Log) Steps() []Step {
	if l == nil {
		return nil
	}
	return slices.Clone(l.steps)
}

// Take returns the steps since the last call, and how many were dropped.
func (l *Log) Take() (steps []Step, more int) {
	if l == nil {
		return nil, 0
	}
	steps, more = l.steps, l.more
	l.steps, l.more, l.within = nil, 0, ""
	return steps, more
}
