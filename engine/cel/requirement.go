package cel

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// maxSource is how much of an expression words quote.
const maxSource = 160

// require writes down what would make a part of an expression that is got the opposite, about the places that it is
// blamed on, and returns these.
func (x *explainer) require(f frame, e ast.Expr, got bool, places []place) []place {
	sheet := x.a.state.env.Sheet
	if sheet == nil || len(places) == 0 {
		return places
	}
	h, subject := x.ask(f, e, got)
	targets := places
	if subject != nil {
		targets = x.reads(f, subject).places
	}
	for _, p := range places {
		if p.old {
			continue
		}
		sheet.Add(p.pointer, below(h, p, targets))
	}
	return places
}

// below is a requirement about a place whose edits are at the target that is there or below it; without one there are none.
func below(h explain.Requirement, p place, targets []place) explain.Requirement {
	out := explain.Requirement{Words: h.Words, Of: h.Of, Part: h.Part}
	for _, t := range targets {
		rest, ok := jsonpointer.Below(t.pointer, p.pointer)
		if t.pointer == p.pointer {
			rest, ok = "", true
		}
		if !ok {
			continue
		}
		if rest != "" {
			out.Words = jsonpointer.Dotted(rest) + ": " + h.Words
		}
		for _, edit := range h.Changes {
			edit.Below = rest + edit.Below
			out.Changes = append(out.Changes, edit)
		}
		break
	}
	return out
}

// requireRest describes what the expression as a whole asks, for places that nothing narrower is known about.
func (x *explainer) requireRest(e *expression) {
	if sheet := x.a.state.env.Sheet; sheet != nil {
		sheet.Add("", explain.Requirement{Words: "that " + quoted(e.source) + " holds"})
	}
}

func quoted(source string) string {
	return "`" + explain.Clip(strings.Join(strings.Fields(source), " "), maxSource) + "`"
}

// asksSomething reports whether a part compares a value with what it has to be.
func asksSomething(e ast.Expr) bool {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().IsTestOnly()
	}
	if e.Kind() != ast.CallKind {
		return false
	}
	switch e.AsCall().FunctionName() {
	case operators.Equals, operators.NotEquals, operators.In, operators.Less, operators.LessEquals, operators.Greater,
		operators.GreaterEquals, "startsWith", "endsWith", "contains", "matches":
		return true
	}
	return false
}

// ask describes what would make a part the opposite of what it is, and which part of it the edits are about; nil where
// that is what the part reads.
func (x *explainer) ask(f frame, e ast.Expr, got bool) (explain.Requirement, ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return presence(got), nil
		}
		return boolean(got), nil
	case ast.IdentKind:
		return boolean(got), nil
	case ast.CallKind:
		if h, subject := x.askCall(f, e.AsCall(), got); h.Words != "" {
			return h, subject
		}
	}
	text, err := cel.ExprToString(e, f.expr.checked.SourceInfo())
	if err != nil {
		text = f.expr.source
	}
	holds := " holds"
	if got {
		holds = " does not hold"
	}
	return explain.Requirement{Words: "that " + quoted(text) + holds}, nil
}

func boolean(got bool) explain.Requirement { return explain.Write(!got) }

func presence(got bool) explain.Requirement {
	if got {
		return explain.Requirement{Words: "nothing: the field must not be set", Changes: []explain.Change{{Remove: true}}}
	}
	return explain.Requirement{Words: "that it is set", Changes: []explain.Change{{Value: explain.Placeholder, Example: true}}}
}

func (x *explainer) askCall(f frame, c ast.CallExpr, got bool) (explain.Requirement, ast.Expr) {
	name, args := c.FunctionName(), c.Args()
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	switch name {
	case callHasIndex:
		return presence(got), nil
	case "hasValue":
		return presence(got), args[0]
	case operators.Index, operators.OptIndex, operators.OptSelect, "orValue":
		return boolean(got), nil
	}
	if len(args) != 2 {
		return explain.Requirement{}, nil
	}
	subject, value, turned, ok := x.sides(f, args)
	if !ok {
		return explain.Requirement{}, nil
	}
	h := asked(name, value, got, turned)
	if h.Words == "" {
		return h, nil
	}
	if v, err := x.eval(f, subject); err == nil {
		if text, ok := native(v, 0); ok {
			h.Of, h.Part = wrong(name, text, value, got)
		}
	}
	if subject.Kind() != ast.CallKind {
		return h, subject
	}
	switch inner := subject.AsCall(); inner.FunctionName() {
	case "size":
		return sized(h, name, value, got, turned), append(inner.Args(), inner.Target())[0]
	case operators.Index, operators.OptIndex, operators.OptSelect, "orValue", "or", "value", "dyn": // hand out what they are given
		return h, subject
	}
	text, err := cel.ExprToString(subject, f.expr.checked.SourceInfo())
	if err != nil {
		return explain.Requirement{}, nil
	}
	return explain.Requirement{Words: quoted(text) + " to be " + h.Words, Of: h.Of, Part: h.Part}, subject
}

// wrong returns the text that a comparison looked at, and what of it made the comparison what it is.
func wrong(name string, have, value any, got bool) (string, explain.Span) {
	text, ok := have.(string)
	want, isText := value.(string)
	if !ok || !isText {
		return text, explain.Span{}
	}
	if name == "matches" {
		re, err := regexp.Compile(want)
		if at := []int(nil); err == nil && got {
			if at = re.FindStringIndex(text); at != nil {
				return text, explain.Like(text, "*"+text[at[0]:at[1]]+"*")
			}
		}
		return text, explain.Span{}
	}
	like, known := map[string]string{"startsWith": want + "*", "endsWith": "*" + want, "contains": "*" + want + "*",
		operators.Equals: want, operators.NotEquals: want}[name]
	switch {
	case !known:
		return text, explain.Span{}
	case got == (name != operators.NotEquals):
		return text, explain.Like(text, like)
	}
	return text, explain.Against(text, like)
}

// sides tells the side of a comparison that reads the object from the one that is known without; turned says that they
// stand the other way round.
func (x *explainer) sides(f frame, args []ast.Expr) (subject ast.Expr, value any, turned, ok bool) {
	for i, arg := range args {
		other := args[1-i]
		if len(x.reads(f, arg).places) == 0 || len(x.reads(f, other).places) > 0 {
			continue
		}
		v, err := x.eval(f, other)
		if err != nil {
			continue
		}
		if value, ok = native(v, 0); ok {
			return arg, value, i == 1, true
		}
	}
	return nil, nil, false, false
}

// asked is what a comparison with a value asks for to become the opposite of what it is.
func asked(name string, value any, got, turned bool) explain.Requirement {
	list, isList := value.([]any)
	text := explain.Text(value)
	not := ""
	if got {
		not = "not "
	}
	switch name {
	case operators.Equals, operators.NotEquals:
		if got == (name == operators.NotEquals) {
			return explain.Write(value)
		}
		if b, ok := value.(bool); ok {
			return explain.Write(!b)
		}
		if value == "" {
			return explain.Requirement{Words: "a value that is not empty",
				Changes: []explain.Change{{Value: explain.Placeholder, Example: true}}}
		}
		return explain.Requirement{Words: "anything but " + text}
	case operators.In:
		switch {
		case !isList && turned:
			with := map[bool]string{true: "without ", false: "with "}[got]
			return explain.Requirement{Words: "a list or mapping " + with + text}
		case !isList:
			return explain.Requirement{}
		case got:
			return explain.Requirement{Words: explain.NoneOf(list), Changes: []explain.Change{{Remove: true, Element: true}}}
		case len(list) == 0:
			return explain.Requirement{Words: "nothing: no value is allowed", Changes: []explain.Change{{Remove: true}}}
		}
		return explain.Requirement{Words: explain.OneOf(list), Changes: append(explain.Choose(list...), explain.Change{Remove: true, Element: true})}
	case "startsWith":
		return explain.Requirement{Words: "a value that does " + not + "begin with " + text}
	case "endsWith":
		return explain.Requirement{Words: "a value that does " + not + "end in " + text}
	case "contains":
		return explain.Requirement{Words: "a value that does " + not + "contain " + text}
	case "matches":
		return explain.Requirement{Words: "a value that does " + not + "match the regular expression " + text}
	}
	return compared(name, value, got, turned)
}

// compared is the requirement of <, <=, > and >=.
func compared(name string, value any, got, turned bool) explain.Requirement {
	signs := []string{operators.Less, operators.LessEquals, operators.GreaterEquals, operators.Greater}
	at := slices.Index(signs, name)
	if at < 0 {
		return explain.Requirement{}
	}
	if turned {
		at = 3 - at
	}
	if got { // the opposite: < becomes >=
		at = (at + 2) % 4
	}
	words := []string{"less than ", "at most ", "at least ", "more than "}[at] + explain.Text(value)
	n, ok := value.(int64)
	if !ok {
		return explain.Requirement{Words: words}
	}
	n += []int64{-1, 0, 0, 1}[at]
	return explain.Requirement{Words: words, Changes: []explain.Change{{Value: n, Example: true}}}
}

// sized is a requirement about how many elements or characters there are.
func sized(h explain.Requirement, name string, value any, got, turned bool) explain.Requirement {
	some := name == operators.Greater && !got && !turned && value == int64(0) ||
		name == operators.GreaterEquals && !got && !turned && value == int64(1) ||
		name == operators.NotEquals && !got && value == int64(0) || name == operators.Equals && got && value == int64(0)
	none := (name == operators.Equals && !got || name == operators.NotEquals && got) && value == int64(0)
	switch {
	case some:
		return explain.Requirement{Words: "a value that is not empty",
			Changes: []explain.Change{{Value: explain.Placeholder, Example: true}, {Value: []any{explain.Placeholder}, Example: true}}}
	case none:
		return explain.Requirement{Words: "nothing: it must be empty", Changes: []explain.Change{{Remove: true}}}
	}
	return explain.Requirement{Words: "a size of " + h.Words}
}

// native is a value of an expression as JSON has it.
func native(v ref.Val, depth int) (any, bool) {
	switch v := v.(type) {
	case types.Bool:
		return bool(v), true
	case types.Int:
		return int64(v), true
	case types.Double:
		return float64(v), true
	case types.String:
		return string(v), true
	case types.Null:
		return nil, true
	case traits.Lister:
		n, ok := v.Size().(types.Int)
		if !ok || n > 100 || depth > 5 {
			return nil, false
		}
		out := make([]any, n)
		for i := range n {
			if out[i], ok = native(v.Get(i), depth+1); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return nil, false
}
