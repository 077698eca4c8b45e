package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// alternatives makes a.or(b) and a.orValue(b) return a if a is not an optional, as in Kubernetes and Kyverno up to
// cel-go 0.27. Later versions return an error. It has to come before cel.OptionalTypes, which plans these calls unless
// they are planned already.
type alternatives struct{}

var _ cel.Library = alternatives{}

// CompileOptions implements cel.Library.
func (alternatives) CompileOptions() []cel.EnvOption { return nil }

// ProgramOptions implements cel.Library.
func (alternatives) ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.CustomDecoratorV2(
		func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
			call, ok := i.(interpreter.InterpretableCall)
			if !ok || len(call.Args()) != 2 || call.Function() != "or" && call.Function() != "orValue" {
				return i, nil
			}
			return &alternative{
				id: call.ID(), first: call.Args()[0], other: call.Args()[1], value: call.Function() == "orValue",
			}, nil
		})}
}

// alternative is a call a.or(b), or a.orValue(b) if value is set.
type alternative struct {
	id           int64
	first, other interpreter.InterpretableV2
	value        bool
}

// ID implements interpreter.Interpretable.
func (a *alternative) ID() int64 { return a.id }

// Exec implements interpreter.InterpretableV2.
func (a *alternative) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	first := a.first.Exec(frame)
	optional, ok := first.(*types.Optional)
	switch {
	case !ok:
		return first
	case !optional.HasValue():
		return a.other.Exec(frame)
	case a.value:
		return optional.GetValue()
	}
	return first
}

// Eval implements interpreter.Interpretable.
func (a *alternative) Eval(vars interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(vars))
}
