package trace

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// call is a call of a function, as its handler sees it.
type call struct {
	*frame
	name string
	args []value
	out  reflect.Value
}

// call calls a function by its name.
func (f *frame) call(dot value, id *parse.IdentifierNode, nodes []parse.Node, piped *value) value {
	fn := f.funcs[id.Ident]
	if fn.special {
		return f.andOr(dot, id.Ident == "or", nodes, piped)
	}
	c := &call{frame: f, name: id.Ident}
	spelled := c.arguments(dot, nodes, piped)
	if fn.native != nil {
		return fn.native(f, c.args)
	}
	return c.result(c.name+spelled, fn)
}

// result has text/template evaluate the call.
func (c *call) result(spelled string, fn function) value {
	if c.assuming && fn.kept {
		return value{sh: c.mixed()}
	}
	if fn.before != nil {
		fn.taint = fn.before(c)
	}
	var err error
	c.out, err = c.real(spelled, c.args)
	switch {
	case err == nil && fn.taint != nil:
		if s, ok := asString(c.out); ok {
			c.grow(len(s))
		}
		return value{c.out, fn.taint(c)}
	case err != nil && !c.assuming:
		c.fail("%w", err)
	case err != nil && c.name == "index":
		return value{sh: indexed(c)}
	}
	whole := c.mixed()
	if list := concrete(c.out); list.Kind() == reflect.Slice && c.sliceOf(list) == nil {
		c.grow(pieceCost * list.Len())
		c.setSlice(list, &sliceInfo{org: whole.org, elems: slices.Repeat([]taint{whole}, list.Len())})
	}
	return value{c.out, whole}
}

// arguments evaluates the arguments of a call. It returns their text for text/template, which converts them to the
// parameter types. Numbers are passed as written, since their type depends on the parameter.
func (c *call) arguments(dot value, nodes []parse.Node, piped *value) (spelled string) {
	for _, n := range nodes {
		c.args = append(c.args, c.evaluate(dot, n, nil, nil))
		if number, ok := n.(*parse.NumberNode); ok {
			spelled += " " + number.Text
		} else {
			spelled += " (arg " + strconv.Itoa(len(c.args)-1) + ")"
		}
	}
	if piped != nil {
		c.args = append(c.args, *piped)
		spelled += " (arg " + strconv.Itoa(len(c.args)-1) + ")"
	}
	return spelled
}

// real has text/template evaluate a call.
func (f *frame) real(call string, args []value) (reflect.Value, error) {
	b := &bridge{args: args}
	err := f.across("{{take ("+call+")}}", b)
	return b.out, err
}

// andOr returns the first value that decides, or the last.
func (f *frame) andOr(dot value, or bool, nodes []parse.Node, piped *value) (v value) {
	if f.assuming {
		c := &call{frame: f}
		c.arguments(dot, nodes, piped)
		return value{c.args[len(c.args)-1].rv, c.mixed()}
	}
	var c *cond
	role := Condition
	if or {
		role = Fallback
	}
	for i, n := range nodes {
		v = f.evaluate(dot, n, nil, nil)
		if truth(v.rv) == or || i == len(nodes)-1 && piped == nil {
			v.sh.cond = join(v.sh.cond, c)
			return v
		}
		c = join(c, v.sh.conds()).under(f.origin(v), role)
	}
	v = *piped
	v.sh.cond = join(v.sh.cond, c)
	return v
}

// mixed returns the origin of a result that may come from any argument. The piped argument comes first.
func (c *call) mixed() taint {
	var m mixer
	var k *cond
	for i := len(c.args) - 1; i >= 0; i-- {
		c.collect(&m, c.args[i], 0)
		k = join(k, c.args[i].sh.conds())
	}
	return taint{org: m.node(), cond: k, derived: true}
}

// function describes a function of templates.
type function struct {
	taint   handler                            // returns the taint of its result
	before  func(c *call) handler              // the same, for a function that changes its arguments
	native  func(f *frame, args []value) value // replaces the call
	special bool                               // and, or: evaluate arguments only as needed
	// kept means that it is not called to see what a block would print: it changes its arguments, is expensive, or
	// would return something else for other values.
	kept bool
}

// functions returns the known functions by name. The result of any other function has the origins of all arguments, and so
// have the scalars in a list that it returns; maps keep theirs, by identity.
func functions() map[string]function {
	out := map[string]function{}
	for _, some := range []struct {
		function
		names string
	}{
		{function{special: true}, "and or"},
		{function{native: include}, "include"},
		{function{native: tpl}, "tpl"},
		{function{taint: spelled}, "quote squote print cat toString join"},
		{function{taint: formatted}, "printf"},
		{function{taint: padded}, "indent nindent"},
		{function{taint: replaced}, "replace regexReplaceAll regexReplaceAllLiteral"},
		{function{taint: within}, "trim trimAll trimall trimPrefix trimSuffix trunc substr lower upper title untitle " +
			"swapcase"},
		{function{taint: passed}, "required"},
		{function{taint: chosen, kept: true}, "default coalesce"},
		{function{taint: ternary}, "ternary"},
		{function{taint: encoded}, "toYaml toYamlPretty toJson toPrettyJson toRawJson"},
		{function{taint: fromText}, "fromYaml fromYamlArray fromJson fromJsonArray"},
		{function{taint: indexed}, "index get hasKey"},
		{function{taint: dug}, "dig"},
		{function{taint: dict}, "dict"},
		{function{taint: picked}, "pick omit"},
		{function{taint: copied}, "deepCopy"},
		{function{taint: ended}, "first last"},
		{function{taint: listed}, "list tuple"},
		{function{taint: gathered}, "splitList keys values pluck rest initial append push prepend concat reverse uniq " +
			"without compact slice chunk sortAlpha toStrings"},
		{function{taint: setKey, kept: true}, "set unset"},
		{function{before: merging, kept: true}, "merge mergeOverwrite"},
		{function{taint: lookedUp, kept: true}, "lookup"},
		{function{taint: invented, kept: true}, "randAlpha randAlphaNum randAscii randNumeric randBytes randInt uuidv4 " +
			"now genPrivateKey genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert " +
			"genSignedCertWithKey bcrypt htpasswd shuffle encryptAES derivePassword"},
	} {
		for name := range strings.FieldsSeq(some.names) {
			out[name], out["must"+strings.ToUpper(name[:1])+name[1:]] = some.function, some.function
		}
	}
	return out
}

// invented returns the taint of a result that is random or depends on the time: the function and its arguments.
func invented(c *call) taint {
	sh := c.mixed()
	m := mixer{parts: []*node{{kind: Random, key: c.name}}}
	m.add(sh.org)
	return taint{org: m.node(), cond: sh.cond, derived: true}
}

// deref follows pointers and interfaces to their end or to nil.
func deref(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// truth reports whether a value is true for text/template. A kind that cannot be true or false counts as false.
func truth(v reflect.Value) bool {
	if v = concrete(v); !v.IsValid() {
		return false
	}
	is, _ := template.IsTrue(v.Interface())
	return is
}

var (
	errorType    = reflect.TypeFor[error]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
)

// sprint returns what an action prints for a value.
func sprint(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = deref(v)
	}
	if !v.IsValid() {
		return noValue
	}
	t := v.Type()
	p := reflect.PointerTo(t)
	if !t.Implements(errorType) && !t.Implements(stringerType) && v.CanAddr() &&
		(p.Implements(errorType) || p.Implements(stringerType)) {
		v = v.Addr()
	}
	return fmt.Sprint(v.Interface())
}

// sortedKeys returns the keys of a map of strings in order.
func sortedKeys(m reflect.Value) []string {
	if m.Type().Key().Kind() != reflect.String {
		return nil
	}
	keys := make([]string, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		keys = append(keys, it.Key().String())
	}
	sort.Strings(keys)
	return keys
}

// bridge passes values to a template with a single action. There text/template does what only it can do: call a
// function, or range over a value.
type bridge struct {
	args []value
	out  reflect.Value
	each func(key, elem reflect.Value) (stop bool)
}

// bridging returns the functions of such templates.
func (e *exec) bridging() template.FuncMap {
	return template.FuncMap{
		"arg": func(i int) reflect.Value { return e.bridge.args[i].rv },
		"take": func(v reflect.Value) string {
			e.bridge.out = v
			return ""
		},
		"each": func(key, elem reflect.Value) bool { return e.bridge.each(key, elem) },
	}
}

// across executes a template with a bridge. The error is that of the called function.
func (f *frame) across(action string, b *bridge) error {
	t := f.bridges[action]
	if t == nil {
		t = template.Must(f.calls.New("").Parse(action))
		f.bridges[action] = t
	}
	defer func(outer *bridge) { f.bridge = outer }(f.bridge)
	f.bridge = b
	err := t.Execute(io.Discard, nil)
	if inner, ok := errors.AsType[failure](err); ok {
		panic(inner)
	}
	return err
}

// dynamic returns the origin of a key that is not a literal in the template.
func (f *frame) dynamic(by value) *node {
	var m mixer
	by.sh.mix().leaves(func(n *node) {
		if n.kind != Text {
			m.add(n)
		}
	})
	return m.node()
}
