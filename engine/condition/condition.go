// Package condition compiles and evaluates the conditions of Kyverno's preconditions and deny rules.
//
// A condition compares a key with a value by an operator; both may hold variables. Conditions stand in
// any and all blocks, a list of such blocks, or the deprecated flat list, which is all of its members
// (https://kyverno.io/docs/policy-types/cluster-policy/preconditions/).
package condition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Set is a compiled set of conditions. It is immutable and safe for concurrent use. A set without conditions is met.
type Set struct{ blocks []block }

// conditions lists the conditions of all blocks.
func (s *Set) conditions() (list []condition) {
	for _, b := range s.blocks {
		list = slices.Concat(list, b.any, b.all)
	}
	return list
}

// block is met if at least one of any (if the block has that list) and all of all are met.
type block struct {
	hasAny bool
	any    []condition
	all    []condition
}

// condition is one comparison.
type condition struct {
	at       string // pointer to the condition
	key      *variable.Tree
	value    *variable.Tree
	operator operator
	name     string         // of the operator
	texts    bool           // the operator takes no key that is a list of anything but text
	source   string         // the key as written
	message  *variable.Tree // nil where there is none
	raw      string         // the message as written
	fixed    test           // the comparison with a value that holds no variables
}

// EvaluationError describes which condition could not be evaluated. It wraps the error of the variable:
// *jmespath.NotFoundError, *admission.NeedsClusterError and others.
type EvaluationError struct {
	Pointer string // RFC 6901, to the key or value in the document the set was compiled from
	Err     error
}

func (e *EvaluationError) Error() string {
	return fmt.Sprintf("failed to substitute variables in condition %s: %v", lastToken(e.Pointer), e.Err)
}

func (e *EvaluationError) Unwrap() error { return e.Err }

func lastToken(pointer string) string { return pointer[strings.LastIndexByte(pointer, '/')+1:] }

// Holds evaluates the conditions in order and stops when the result is known. The error is an *EvaluationError.
//
// The message is composed of the messages of the conditions as Kyverno does it: of the ones that are met for a set that
// is met, otherwise of those that are not, as far as they were evaluated. Variables in it are resolved, or left as
// written if they cannot be.
func (s *Set) Holds(sc *variable.Scope) (met bool, message string, err error) {
	var messages []string
	for i := range s.blocks {
		met, message, err := s.blocks[i].holds(sc)
		if err != nil {
			return false, "", err
		}
		if !met {
			return false, message, nil
		}
		messages = append(messages, message)
	}
	return true, joinNonEmpty(messages, ";"), nil
}

// holds evaluates any up to the first condition that is met, and all up to the first that is not. It evaluates all even
// if any has failed, since Kyverno reports the errors and messages of both. A condition that needs the cluster counts where no
// other one decides.
func (b *block) holds(sc *variable.Scope) (bool, string, error) {
	var met, unmet []string
	first := func(list []condition, wanted bool) (found bool, needs error) {
		for i := range list {
			c := &list[i]
			ok, err := c.holds(sc)
			switch {
			case err == nil:
			case errors.As(err, new(*admission.NeedsClusterError)): // another one may decide
				needs = cmp.Or(needs, err)
				continue
			default:
				return false, cmp.Or(needs, err)
			}
			if ok {
				met = append(met, c.text(sc))
			} else {
				unmet = append(unmet, c.text(sc))
			}
			if ok == wanted {
				return true, nil
			}
		}
		return false, needs
	}
	anyMet, open := first(b.any, true)
	if open != nil && !errors.As(open, new(*admission.NeedsClusterError)) {
		return false, "", open
	}
	allUnmet, err := first(b.all, false)
	switch err = cmp.Or(open, err); {
	case err != nil && !allUnmet:
		return false, "", err
	case (anyMet || !b.hasAny) && !allUnmet:
		return true, joinNonEmpty(met, "; "), nil
	}
	return false, joinNonEmpty(unmet, "; "), nil
}

// holds evaluates one condition.
func (c *condition) holds(sc *variable.Scope) (bool, error) {
	key, t, err := c.operands(sc)
	if err != nil {
		return false, err
	}
	return t(key), nil
}

// operands resolves the key, and the value to its comparison.
func (c *condition) operands(sc *variable.Scope) (key any, t test, err error) {
	key, err = c.key.Resolve(sc)
	if err != nil {
		return nil, nil, &EvaluationError{Pointer: c.at + "/key", Err: err}
	}
	if c.texts && slices.ContainsFunc(asList(key), notString) {
		err := fmt.Errorf("the operator %s is for lists of text only, and Kyverno ends with a panic on others: use AnyIn, AllIn, "+
			"AnyNotIn or AllNotIn", c.name)
		return nil, nil, &EvaluationError{Pointer: c.at + "/key", Err: &admission.UnreadableError{Err: err}}
	}
	if c.fixed != nil {
		return key, c.fixed, nil
	}
	value, err := c.value.Resolve(sc)
	if err != nil {
		return nil, nil, &EvaluationError{Pointer: c.at + "/value", Err: err}
	}
	return key, c.operator(value), nil
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// text returns the message of the condition, with its variables resolved if possible.
func (c *condition) text(sc *variable.Scope) string {
	if c.message == nil {
		return ""
	}
	resolved, err := c.message.Resolve(sc)
	if err != nil {
		return c.raw
	}
	if text, ok := resolved.(string); ok {
		return text
	}
	return sprint(resolved)
}

func joinNonEmpty(parts []string, joint string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), joint)
}

// IsNotFound reports whether an evaluation failed because a variable does not exist.
func IsNotFound(err error) bool {
	return errors.As(err, new(*jmespath.NotFoundError))
}
