package cel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/policy"
)

// expression is a compiled expression: immutable except for caches, safe for concurrent use.
type expression struct {
	source  string
	checked *ast.AST
	gives   *cel.Type
	// quick is a program that counts only iterations, for expressions whose values cannot grow; nil for others. metered
	// tracks the cost of each step, which takes several times as long.
	quick   cel.Program
	metered func() (cel.Program, error)
	// parts holds programs of parts of the expression, by the id of the part. They are compiled when a
	// failure is explained for the first time.
	parts sync.Map
}

// compiler compiles the expressions of one document and collects their problems.
type compiler struct {
	lang     *language
	doc      policy.Document
	problems []policy.Problem
	// declared are the variables that may be used so far, with the types of their values.
	declared map[string]*cel.Type
	untyped  map[string]bool // those that are a part of the object, see isData
	// additions counts the operators + in the variables.
	additions int
	// mutates is set where expressions may make the objects of mutations.
	mutates bool
	// generated is set where the text is not that of the document, but rewritten for pod controllers.
	generated bool
}

func newCompiler(doc policy.Document) (*compiler, error) {
	lang, err := shared()
	return &compiler{lang: lang, doc: doc, declared: map[string]*cel.Type{}, untyped: map[string]bool{}}, err
}

// compileDocument builds what a document says; nil where a problem is more than a warning.
func compileDocument[T any](doc policy.Document, build func(*compiler) *T) (*T, []policy.Problem) {
	c, err := newCompiler(doc)
	if err != nil {
		return nil, []policy.Problem{doc.Problem("", "build the expression language: %v", err)}
	}
	out := build(c)
	if policy.HasErrors(c.problems) {
		return nil, c.problems
	}
	return out, c.problems
}

func (c *compiler) problem(pointer, format string, args ...any) {
	c.problems = append(c.problems, c.doc.Problem(pointer, format, args...))
}

func (c *compiler) located(pointer string, at common.Location, message string) {
	if c.generated {
		c.problem(pointer, "rewritten for pod controllers, %s", message)
		return
	}
	line, column := c.doc.TextPosition(pointer, at.Line(), at.Column()+1)
	c.problems = append(c.problems, policy.Problem{Path: c.doc.Path, Line: line, Column: column, Message: message})
}

// compile compiles the expression at pointer, nil where it cannot be. The result must be of one of the
// types, or dynamic; no types means any.
func (c *compiler) compile(pointer, source string, want ...*cel.Type) *expression {
	if strings.TrimSpace(source) == "" {
		c.problem(pointer, "the expression is empty")
		return nil
	}
	env := c.lang.env
	if c.doc.Group() != kyvernoGroup {
		var err error
		if env, err = server(); err != nil {
			c.problem(pointer, "build the expression language: %v", err)
			return nil
		}
	}
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		why := ""
		if env != c.lang.env {
			if _, others := c.lang.env.Compile(source); others.Err() == nil {
				why = "; the API server compiles it, which has no functions of Kyverno"
			}
		}
		for _, e := range issues.Errors() {
			c.located(pointer, e.Location, "the expression does not compile: "+firstLine(e.Message)+why)
		}
		return nil
	}
	gives, native := c.typeOf(source, checked), checked.NativeRep()
	if len(want) > 0 && !slices.ContainsFunc(want, func(t *cel.Type) bool { return gives.IsExactType(t) }) {
		switch {
		case !isDynamic(gives):
			c.problem(pointer, "the expression returns %s and must return %s", gives, want[0])
			return nil
		case c.ofKyverno() && c.isData(native.Expr()) && want[0].IsExactType(cel.BoolType):
			c.problem(pointer, "the expression returns a value of any type, which Kyverno refuses: compare it, as in == true")
			return nil
		case c.ofKyverno() && c.isData(native.Expr()) && want[0].IsExactType(cel.StringType):
			c.problem(pointer, "the expression returns a value of any type, which Kyverno refuses: write string(...)")
			return nil
		}
	}
	if made := makesObjects(native.Expr()); made != nil && !c.mutates {
		c.located(pointer, native.SourceInfo().GetStartLocation(made.ID()), "the type "+made.AsStruct().TypeName()+
			" is for mutations only")
		return nil
	}
	if !c.declaredOnly(pointer, native) {
		return nil
	}
	out, err := c.lang.plan(source, native, c.additions)
	if err != nil {
		c.problem(pointer, "the expression cannot be planned: %s", firstLine(err.Error()))
		return nil
	}
	out.gives = gives
	return out
}

// lacks reports whether expressions of other policies may use a name, and those of this kind may not (createBaseVpolEnv in
// pkg/cel/policies/vpol/compiler/compiler.go of Kyverno; those of a MutatingPolicy had images until Kyverno 1.17).
func (c *compiler) lacks(name string) bool {
	switch name {
	case identParams, identAuthorizer, identAuthorizedResource:
		return true
	}
	return name == identImages && strings.HasSuffix(c.doc.Kind, "ValidatingPolicy")
}

const kyvernoGroup = "policies.kyverno.io"

// ofKyverno reports whether Kyverno itself compiles the expressions: it takes no value of an unknown type for a bool or a
// string (pkg/cel/compiler/compiler.go of Kyverno), as the API server does where it knows no schema.
func (c *compiler) ofKyverno() bool { return c.doc.Group() == kyvernoGroup && !c.generated }

func isDynamic(t *cel.Type) bool { return t.IsExactType(cel.DynType) || t.IsExactType(cel.AnyType) }

// isData reports whether an expression is a field or an element of the object, of which Kyverno knows no type. It knows that
// of the request, of the Namespace, and of what functions return, partly better than this package.
func (c *compiler) isData(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent() == identObject || e.AsIdent() == identOldObject
	case ast.SelectKind:
		if name, ok := variableName(e); ok {
			return c.untyped[name]
		}
		return c.isData(e.AsSelect().Operand())
	case ast.CallKind:
		switch call := e.AsCall(); call.FunctionName() {
		case operators.Index:
			return c.isData(call.Args()[0])
		case operators.Conditional:
			return c.isData(call.Args()[1]) || c.isData(call.Args()[2])
		}
	}
	return false
}

// typeOf returns the type of an expression's value, which the types of the variables may decide.
func (c *compiler) typeOf(source string, checked *cel.Ast) *cel.Type {
	gives, reads := checked.OutputType(), false
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		_, is := variableName(e)
		reads = reads || is
	}))
	if !isDynamic(gives) || !reads || !c.ofKyverno() {
		return gives
	}
	var options []cel.EnvOption
	for name, t := range c.declared {
		options = append(options, cel.Variable(identVariables+"."+name, t))
	}
	env, err := c.lang.env.Extend(options...)
	if err != nil {
		return gives
	}
	typed, issues := env.Compile(source)
	if issues.Err() != nil {
		return gives
	}
	return typed.OutputType()
}

// plan creates the programs of an expression. additions is the number of operators + in the variables that it may use.
func (l *language) plan(source string, checked *ast.AST, additions int) (*expression, error) {
	x := &expression{source: source, checked: checked}
	x.metered = sync.OnceValues(func() (cel.Program, error) { return l.env.PlanProgram(checked, programOptions()...) })
	if !bounded(checked.Expr(), additions) {
		_, err := x.metered()
		return x, err
	}
	var err error
	x.quick, err = l.planner(checked.Expr()).PlanProgram(checked, quickOptions(checked.Expr())...)
	return x, err
}

// declaredOnly reports uses of names that do not exist in policies of the kind, and of variables that are not defined before: a
// variable can use only those before it.
func (c *compiler) declaredOnly(pointer string, a *ast.AST) bool {
	ok, bound := true, map[string]bool{}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		name, isVariable := variableName(e)
		if e.Kind() == ast.ComprehensionKind {
			bound[e.AsComprehension().IterVar()], bound[e.AsComprehension().IterVar2()] = true, true
		}
		if e.Kind() == ast.IdentKind && c.ofKyverno() && c.lacks(e.AsIdent()) && !bound[e.AsIdent()] {
			c.located(pointer, a.SourceInfo().GetStartLocation(e.ID()), "Kyverno has no "+e.AsIdent()+" in policies of this kind")
			ok = false
		}
		if !isVariable || c.declared[name] != nil {
			return
		}
		message := fmt.Sprintf("the variable %q is not defined before this place", name)
		if near := policy.Nearest(name, sortedKeys(c.declared)); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		c.located(pointer, a.SourceInfo().GetStartLocation(e.ID()), message)
		ok = false
	}))
	return ok
}

// variableName is the name of the variable of the policy that an expression is.
func variableName(e ast.Expr) (name string, ok bool) {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || !isIdent(e.AsSelect().Operand(), identVariables) {
		return "", false
	}
	return e.AsSelect().FieldName(), true
}

// eval evaluates the expression. errors.As and errors.Is find a *admission.NeedsClusterError and the error of the
// context in the returned error.
func (e *expression) eval(a *activation) (ref.Val, error) {
	s := a.state
	outer := s.undecided
	s.undecided = nil
	out, err := e.run(a)
	if unknown, is := out.(*types.Unknown); is && err == nil {
		out, err = nil, needsLive(unknown)
	}
	if s.undecided != nil {
		out, err = nil, s.undecided
	}
	s.undecided = outer
	return out, err
}

// needsLive returns the error for a result that depends on values which only the cluster knows (see live).
func needsLive(unknown *types.Unknown) error {
	trails, _ := unknown.GetAttributeTrails(0)
	if len(trails) == 0 {
		return admission.NeedsLive("a field")
	}
	return admission.NeedsLive(trails[0].Variable())
}

func (e *expression) run(a *activation) (ref.Val, error) {
	if e.quick != nil {
		if out, err, done := a.quick(e.quick); done {
			return out, err
		}
	}
	p, err := e.metered()
	if err != nil {
		return nil, err
	}
	out, _, err := run(a, p)
	return out, err
}

// run runs a program and returns its cost: the limit, if it was stopped before its end.
func run(a *activation, p cel.Program) (ref.Val, uint64, error) {
	out, details, err := p.ContextEval(a.ctx, a)
	cost := uint64(partCost)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		if cause := context.Cause(a.ctx); cause != nil {
			return nil, cost, cause
		}
		return nil, cost, err
	}
	return out, cost, nil
}

// truth evaluates the expression to a boolean.
func (e *expression) truth(a *activation) (bool, error) {
	out, err := e.eval(a)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the expression returns %s, not bool", out.Type().TypeName())
	}
	return bool(b), nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return explain.Clip(s, 400)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func itoa(i int) string { return strconv.Itoa(i) }
