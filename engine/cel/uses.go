package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Allowances are what a policy asks of exceptions: which of kyverno.excludedImages and kyverno.allowedValues its
// expressions read, also by the names of the released product (https://kyverno.io/docs/guides/exceptions/).
type Allowances struct {
	Images bool // kyverno.excludedImages or exceptions.allowedImages
	// Values are the names of allowedValues that are read, sorted, each once; "" is the list without names.
	Values []string
}

// Allowances returns what the variables, validations and mutations of the policy can use of an exception; nothing for the
// kinds of Kubernetes, which know no exceptions.
func (p *Policy) Allowances() Allowances {
	var out Allowances
	if p.rule != "" {
		return out
	}
	for _, v := range p.program.variables {
		out.read(v.expr)
	}
	for _, v := range p.program.validations {
		out.read(v.expr)
	}
	for _, m := range p.targets[0].mutations {
		out.read(m.expr)
	}
	slices.Sort(out.Values)
	out.Values = slices.Compact(out.Values)
	return out
}

// read notes what an expression reads.
func (a *Allowances) read(x *expression) {
	named := map[int64]bool{} // parts that are read by name, or only asked whether they are there
	ast.PreOrderVisit(x.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		of, name, ok := field(e)
		if !ok || named[e.ID()] {
			return
		}
		if inner, list, ok := field(of); ok && list == "allowedValues" && isExceptions(inner) {
			named[of.ID()] = true
			a.Values = append(a.Values, name)
		}
		switch {
		case !isExceptions(of):
		case name == "allowedValues":
			a.Values = append(a.Values, "")
		case name == "excludedImages" && isIdent(of, identKyverno),
			name == "allowedImages" && isIdent(of, identExceptions):
			a.Images = true
		}
	}))
}

func isExceptions(e ast.Expr) bool {
	return isIdent(e, identKyverno) || isIdent(e, identExceptions)
}

// field takes a read of a field apart: a.b, a["b"], a.?b and a[?"b"]; has(a.b) is none, but has(a[b]) is.
func field(e ast.Expr) (of ast.Expr, name string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		return s.Operand(), s.FieldName(), !s.IsTestOnly()
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect, callHasIndex:
			key := c.Args()[1]
			if key.Kind() != ast.LiteralKind {
				return nil, "", false
			}
			text, ok := key.AsLiteral().(types.String)
			return c.Args()[0], string(text), ok
		}
	}
	return nil, "", false
}

// seesOnlyObject lists the fields of a request that are the same for everybody who creates an object.
var seesOnlyObject = []string{
	"uid", "kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource", "name",
	"namespace", "dryRun", "object", "options",
}

// beyondObject are the names that tell creations of the same object apart.
var beyondObject = []string{identOldObject, identRequest, identAuthorizer, identAuthorizedResource}

// ReadsRequest reports whether a condition depends on more of a request than the object that is created: on who
// makes it, on its operation or on the old object.
func (e *Exception) ReadsRequest() (found bool) {
	for _, x := range e.conditions {
		known := map[int64]bool{}
		ast.PreOrderVisit(x.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if of, name, ok := fieldOrTest(e); ok && isIdent(of, identRequest) {
				known[of.ID()] = slices.Contains(seesOnlyObject, name)
			}
			if e.Kind() == ast.IdentKind && !known[e.ID()] {
				found = found || slices.Contains(beyondObject, identName(e))
			}
		}))
	}
	return found
}

func fieldOrTest(e ast.Expr) (of ast.Expr, name string, ok bool) {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	}
	return field(e)
}
