package cel

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// Limits of one evaluation of one expression. The cost is that of Kubernetes
// (k8s.io/apiserver/pkg/apis/cel PerCallLimit, about 0.1 s).
const (
	costLimit      = 1_000_000
	interruptEvery = 100
	maxExpression  = 64 << 10 // characters
	maxIterations  = 10_000   // of all comprehensions of an expression, before its cost is tracked
)

// language is the environment in which all expressions are compiled: immutable, built on first use.
type language struct {
	env *cel.Env
	// small is an environment with only the functions of CEL itself. A program copies all functions of its environment,
	// even those it does not call, and most expressions call no others. common are the functions with the same meaning
	// in both.
	small  *cel.Env
	common map[string]bool
}

// shared is a constant that is computed on first use, since building the environment takes milliseconds.
var shared = sync.OnceValues(func() (*language, error) {
	env, err := newEnv()
	if err != nil {
		return nil, err
	}
	l := &language{env: env, common: map[string]bool{}}
	l.small, err = cel.NewEnv(append(dialect(), cel.Function(callHasIndex, hasIndexOverload()))...)
	if err != nil {
		return nil, err
	}
	all := env.Functions()
	for name, f := range l.small.Functions() {
		if same, ok := all[name]; ok && len(same.OverloadDecls()) == len(f.OverloadDecls()) {
			l.common[name] = true
		}
	}
	return l, nil
})

// planner is the environment to make the program of an expression in.
func (l *language) planner(e ast.Expr) *cel.Env {
	small := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			small = small && l.common[e.AsCall().FunctionName()]
		case ast.StructKind:
			small = false
		}
	}))
	if small {
		return l.small
	}
	return l.env
}

// dialect is everything in an environment except functions.
func dialect() []cel.EnvOption {
	return []cel.EnvOption{
		cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true),
		cel.Lib(alternatives{}), cel.OptionalTypes(),
	}
}

// The names that expressions may use.
const (
	identObject     = "object"
	identOldObject  = "oldObject"
	identRequest    = "request"
	identNamespace  = "namespaceObject"
	identVariables  = "variables"
	identParams     = "params"
	identAuthorizer = "authorizer"
	// identAuthorizedResource is one name with a dot in it
	// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#validation-expression).
	identAuthorizedResource = "authorizer.requestResource"
	identImages             = "images"
	identExceptions         = "exceptions"
	identKyverno            = "kyverno"
	identResource           = "resource"
	identEngine             = "__engine" // what macros put into expressions; a user cannot need the name
	callHasIndex            = "__hasIndex"
	callNow                 = "__now"
)

// server is the environment in which the API server compiles expressions: those of its own policies, and those of
// validate.cel rules, which Kyverno leaves to its code.
var server = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(serverOptions()...) })

// serverOptions declare the language of Kubernetes 1.34 (k8s.io/apiserver/pkg/cel/environment). Objects are dynamically
// typed, as Kyverno and the API server's own fallback have them, because the schemas of a cluster are not known.
func serverOptions() []cel.EnvOption {
	options := append(dialect(),
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
		),
		library.URLs(), library.Regex(), library.Lists(), library.Authz(), library.Quantity(),
		library.IP(), library.CIDR(), library.Format(),
		library.SemverLib(library.SemverVersion(1)),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)),
		cel.Variable(identAuthorizer, library.AuthorizerType),
		cel.Variable(identAuthorizedResource, library.ResourceCheckType),
		library.JSONPatch(), mutationTypes(),
	)
	options = append(options, bounds()...)
	return append(options, dynamic(identObject, identOldObject, identRequest, identNamespace, identVariables, identParams)...)
}

// dynamic declares names with values of any type.
func dynamic(names ...string) (options []cel.EnvOption) {
	for _, name := range names {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return options
}

// newEnv declares the language of the API server with Kyverno's libraries
// (https://kyverno.io/docs/policy-types/cel-libraries/).
func newEnv() (*cel.Env, error) {
	options := append(serverOptions(),
		ext.Encoders(ext.EncodersVersion(0)), ext.Math(), ext.Bindings(), ext.Regex(ext.RegexVersion(1)),
		cel.Macros(hasMacro(),
			engineMacro("", "time_now", "__time_now", 0), engineMacro("", "time_now_utc", "__time_now_utc", 0),
			engineMacro("", "random", "__random", 0), engineMacro("", "random", "__random", 1),
			engineMacro("random", "random", "__random", 0), engineMacro("random", "random", "__random", 1),
			engineMacro("time", "now", callNow, 0)),
	)
	options = append(options, dynamic(identImages, identExceptions, identKyverno, identResource, identEngine, "json", "yaml",
		"image", "imageData", "http", "globalContext")...)
	options = append(options, imageFunctions()...)
	options = append(options, functions()...)
	options = append(options, libraryFunctions()...)
	return cel.NewEnv(options...)
}

// quickOptions are the options for programs of expressions whose work is limited by the number of iterations.
func quickOptions(e ast.Expr) []cel.ProgramOption {
	return []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(countIterations(e))}
}

func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(limitSums),
		cel.CostLimit(costLimit),
		cel.CostTracking(&library.CostEstimator{}),
		cel.CostTrackerOptions(append(sizeTrackers(), interpreter.PresenceTestHasCost(false))...),
		cel.InterruptCheckFrequency(interruptEvery),
	}
}

// hasMacro is CEL's has() with two additions: has(m[key]) tests a computed key, as in the exceptions proposal, and
// has(kyverno.allowedValues.name) is false if no exception gives the name, although the name can be read (as an empty
// list).
func hasMacro() cel.Macro {
	return cel.GlobalMacro(operators.Has, 1,
		func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
			switch e := args[0]; e.Kind() {
			case ast.SelectKind:
				s := e.AsSelect()
				if s.IsTestOnly() {
					break
				}
				if isAllowedValues(s.Operand()) {
					return eh.NewCall(operators.Greater, eh.NewMemberCall("size", e), eh.NewLiteral(types.IntZero)), nil
				}
				return eh.NewPresenceTest(s.Operand(), s.FieldName()), nil
			case ast.CallKind:
				if c := e.AsCall(); c.FunctionName() == operators.Index && len(c.Args()) == 2 {
					return eh.NewCall(callHasIndex, c.Args()[0], c.Args()[1]), nil
				}
			}
			return nil, eh.NewError(args[0].ID(),
				"invalid argument to has() macro: it takes a field, has(a.b), or an entry, has(a[b])")
		})
}

func isAllowedValues(e ast.Expr) bool {
	return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == "allowedValues" &&
		isExceptions(e.AsSelect().Operand())
}
