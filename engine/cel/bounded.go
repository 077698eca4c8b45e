package cel

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// maxAdditions is how many operators + an expression and the variables before it may have together if their cost is not
// tracked: each of them may double a text or a list.
const maxAdditions = 6

// bounded reports whether the work of an expression is limited by the number of its iterations and the size of its
// input: it calls no function whose result can be much larger than its arguments, and few additions.
func bounded(e ast.Expr, before int) bool {
	ok := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			ok = ok && !grows(e.AsCall().FunctionName())
		case ast.StructKind:
			ok = false
		}
	}))
	return ok && before+additions(e) <= maxAdditions
}

func additions(e ast.Expr) int {
	n := 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Add {
			n++
		}
	}))
	return n
}

// grows returns true for all functions except those whose result is known to be no larger than the arguments, and
// computed in linear time.
func grows(function string) bool {
	switch function {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater,
		operators.GreaterEquals,
		operators.In, operators.Index, operators.OptIndex, operators.OptSelect, operators.Conditional,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		callHasIndex,
		// the language
		"size", "startsWith", "endsWith", "contains", "matches", "dyn", "type", "string", "int", "uint", "double", "bool",
		"bytes",
		"duration", "timestamp", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
		"getHours", "getMinutes", "getSeconds", "getMilliseconds",
		"hasValue", "value", "or", "orValue", "optional.of", "optional.ofNonZeroValue", "optional.none",
		// texts
		"lowerAscii", "upperAscii", "trim", "charAt", "indexOf", "lastIndexOf", "substring", "split", "find",
		// Kubernetes
		"quantity", "isQuantity", "isInteger", "asInteger", "asApproximateFloat", "sign", "isGreaterThan", "isLessThan",
		"compareTo",
		"isURL", "url", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery",
		"isIP", "ip", "family", "isLoopback", "isGlobalUnicast", "isUnspecified", "isCIDR", "cidr", "containsIP",
		"containsCIDR", "prefixLength",
		"isSemver", "semver", "major", "minor", "patch",
		// Kyverno
		"image", "parseImageReference", "isImage", "containsDigest", "registry", "repository", "identifier", "tag", "digest",
		"parseServiceAccount", "user.parseServiceAccount":
		return false
	}
	return true
}
