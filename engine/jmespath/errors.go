package jmespath

import (
	"context"
	"errors"
	"fmt"

	"github.com/lintel-bot/lintel/engine/admission"
)

// SyntaxError is the reason why an expression does not compile: it cannot be parsed, uses a part of JMESPath
// that Kyverno does not have, or calls a function wrongly.
type SyntaxError struct {
	Offset  int // in bytes from the start of the expression
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (at offset %d)", e.Message, e.Offset)
}

// NotFoundError means that an expression asked for a key that does not exist, with no || to catch it.
type NotFoundError struct {
	Path string // the key
}

// Error has the words that Kyverno's documentation and users know
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/, "Non-Existence Checks").
func (e *NotFoundError) Error() string { return fmt.Sprintf("Unknown key %q in path", e.Path) }

// FunctionError is the error of a function that refused its arguments.
type FunctionError struct {
	Function string
	Message  string
}

func (e *FunctionError) Error() string {
	return fmt.Sprintf("JMESPath function '%s': %s", e.Function, e.Message)
}

// LimitError means that an evaluation was ended because it took too many steps or made too much output.
type LimitError struct {
	What  string // "steps" or "bytes"
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("expression needs more than %d %s", e.Limit, e.What)
}

// missing tells the one error that || and projections catch. Errors are not wrapped inside this
// package, so that the check stays cheap.
func missing(err error) bool {
	_, ok := err.(*NotFoundError)
	return ok
}

// fatal tells the errors that nothing in an expression may catch: the evaluation did not fail, it could
// not be finished.
func fatal(err error) bool {
	return errors.As(err, new(*LimitError)) || errors.As(err, new(*admission.NeedsClusterError)) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
