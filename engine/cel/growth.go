package cel

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// The cost of a call is known only after it has returned, which is too late for a function whose result can exceed the
// memory. Such functions are called through others that check the sizes first.
const (
	callRange   = "__range"
	callReplace = "__replace"
	callWithin  = "__within"
	callFormat  = "__formatText"

	maxRange  = 100_000 // elements of lists.range; the cost limit is reached before
	maxText   = 4 << 20 // bytes of the result of replace
	maxPart   = 1 << 10 // bytes of what is put between or in place of parts of a text
	maxTarget = 64 << 10
	maxDigits = 100 // behind the decimal point
)

// bounds declares the functions that check sizes, and the macros that insert them.
func bounds() []cel.EnvOption {
	str := cel.StringType
	return []cel.EnvOption{
		cel.Function(callRange, cel.Overload("range_int", []*cel.Type{cel.IntType}, cel.ListType(cel.IntType),
			unary(rangeOf))),
		cel.Function(callReplace,
			cel.Overload("replace_string", []*cel.Type{str, str, str}, str, cel.FunctionBinding(replace)),
			cel.Overload("replace_string_n", []*cel.Type{str, str, str, cel.IntType}, str, cel.FunctionBinding(replace))),
		cel.Function(callWithin, cel.Overload("within_string_int", []*cel.Type{str, cel.IntType}, str,
			binary(within))),
		cel.Function(callFormat, cel.Overload("format_text_string", []*cel.Type{str}, str, text1(formatText))),
		cel.Macros(
			cel.ReceiverMacro("range", 1,
				func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
					if !isIdent(target, "lists") {
						return nil, nil
					}
					return eh.NewCall(callRange, args[0]), nil
				}),
			replaceMacro(2), replaceMacro(3), replaceMacro(4),
			cel.ReceiverMacro("join", 1,
				func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
					return eh.NewMemberCall("join", target, eh.NewCall(callWithin, args[0], eh.NewLiteral(types.Int(maxPart)))), nil
				}),
			cel.ReceiverMacro("format", 1,
				func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
					return eh.NewMemberCall("format", eh.NewCall(callFormat, target), args[0]), nil
				}),
		),
	}
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && identName(e) == name }

// identName is a name without the dot that stands before it where the variable of a comprehension would hide it.
func identName(e ast.Expr) string { return strings.TrimPrefix(e.AsIdent(), ".") }

// replaceMacro is for text.replace(old, new) and text.replace(old, new, n), and for regex.replace, which has the
// text as its first argument.
func replaceMacro(args int) cel.Macro {
	return cel.ReceiverMacro("replace", args,
		func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
			switch {
			case isIdent(target, "regex") && len(args) >= 3:
				args[0] = eh.NewCall(callWithin, args[0], eh.NewLiteral(types.Int(maxTarget)))
				args[2] = eh.NewCall(callWithin, args[2], eh.NewLiteral(types.Int(maxPart)))
				return eh.NewCall("regex.replace", args...), nil
			case len(args) <= 3:
				return eh.NewCall(callReplace, append([]ast.Expr{target}, args...)...), nil
			}
			return nil, nil
		})
}

// limitSums limits what the operator + makes. Where the types of its operands are not known, its cost is 1 whatever it
// makes, so that variables which double a text would exceed the memory.
func limitSums(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if call, ok := i.(interpreter.InterpretableCall); ok && call.Function() == operators.Add {
		return &sum{call}, nil
	}
	return i, nil
}

type sum struct{ interpreter.InterpretableCall }

// Exec implements interpreter.InterpretableV2.
func (s *sum) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	out := s.InterpretableCall.Exec(frame)
	if sized, ok := out.(traits.Sizer); ok {
		if n, ok := sized.Size().(types.Int); ok && n > maxText {
			return types.NewErr("the operator + makes at most %d bytes or elements", maxText)
		}
	}
	return out
}

// Eval implements interpreter.Interpretable.
func (s *sum) Eval(a interpreter.Activation) ref.Val { return s.Exec(interpreter.AsFrame(a)) }

// sizeTrackers give the cost of the functions whose result has a size.
func sizeTrackers() []interpreter.CostTrackerOption {
	size := func(_ []ref.Val, result ref.Val) *uint64 {
		cost := uint64(1)
		if sized, ok := result.(traits.Sizer); ok {
			if n, ok := sized.Size().(types.Int); ok {
				cost += uint64(n) //nolint:gosec // a size is not negative
			}
		}
		return &cost
	}
	return []interpreter.CostTrackerOption{
		interpreter.OverloadCostTracker("range_int", size),
		interpreter.OverloadCostTracker("replace_string", size),
		interpreter.OverloadCostTracker("replace_string_n", size),
	}
}

func rangeOf(n types.Int) ref.Val {
	if n > maxRange {
		return types.NewErr("lists.range makes at most %d elements", maxRange)
	}
	out := make([]ref.Val, 0, max(n, 0))
	for i := range max(n, 0) {
		out = append(out, i)
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

func replace(args ...ref.Val) ref.Val {
	var texts [3]string
	for i := range texts {
		s, ok := args[i].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[i])
		}
		texts[i] = string(s)
	}
	n := -1
	if len(args) == 4 {
		i, ok := args[3].(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[3])
		}
		n = int(min(i, math.MaxInt32))
	}
	count := strings.Count(texts[0], texts[1])
	if n >= 0 {
		count = min(count, n)
	}
	if len(texts[0])+count*len(texts[2]) > maxText {
		return types.NewErr("the result of replace would have more than %d bytes", maxText)
	}
	return types.String(strings.Replace(texts[0], texts[1], texts[2], n))
}

func within(text types.String, limit types.Int) ref.Val {
	if len(text) > int(limit) {
		return types.NewErr("a text of more than %d bytes cannot be used here", int(limit))
	}
	return text
}

var precision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%\.([0-9]+)`) })

func formatText(s string) ref.Val {
	for _, m := range precision().FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(m[1]); err != nil || n > maxDigits {
			return types.NewErr("a format has at most %d digits", maxDigits)
		}
	}
	return types.String(s)
}
