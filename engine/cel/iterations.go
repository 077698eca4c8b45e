package cel

import (
	"context"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// quick runs a program that tracks no cost. It gives up after too many iterations: then the program that tracks the
// cost decides.
//
//nolint:revive // done reports whether there is an error at all
func (a *activation) quick(p cel.Program) (out ref.Val, err error, done bool) {
	before, undecided := a.state.iterations, a.state.undecided
	a.state.iterations = maxIterations
	v, _, err := p.Eval(a)
	exceeded := a.state.iterations < 0
	a.state.iterations = before
	if cause := context.Cause(a.ctx); cause != nil {
		return nil, cause, true
	}
	if exceeded {
		a.state.undecided = undecided // whatever was computed after the end
		return nil, nil, false
	}
	if err != nil {
		v = nil
	}
	return v, err, true
}

// interrupted is the name that programs read at each iteration to find out whether they have to stop.
const interrupted = "#interrupted"

// tick counts an iteration of a comprehension, and reports whether the evaluation has to stop.
func (a *activation) tick() bool {
	s := a.state
	s.iterations--
	if s.iterations%interruptEvery == 0 && a.ctx.Err() != nil {
		s.iterations = -1
	}
	return s.iterations < 0
}

// countIterations makes every comprehension of an expression check at each iteration whether to continue. CEL programs
// check only their context, and only if they are run with one.
func countIterations(e ast.Expr) interpreter.InterpretableDecoratorV2 {
	conditions := map[int64]bool{}
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			conditions[e.AsComprehension().LoopCondition().ID()] = true
		}
	}))
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if conditions[i.ID()] {
			return &counted{i}, nil
		}
		return i, nil
	}
}

// counted is the condition of a comprehension, evaluated before each iteration. It is false if the evaluation has to
// stop, so that all comprehensions end; their results are then discarded.
type counted struct{ interpreter.InterpretableV2 }

// Exec implements interpreter.InterpretableV2.
func (c *counted) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if stop, _ := frame.ResolveName(interrupted); stop == true {
		return types.False
	}
	return c.InterpretableV2.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (c *counted) Eval(a interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(a)) }
