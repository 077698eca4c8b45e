package trace

import (
	"reflect"
	"regexp"
	"strings"
)

// maxIncludes is how often Helm allows a template to include itself.
const maxIncludes = 1000

// include executes a template by its name and returns what it printed.
func include(f *frame, args []value) value {
	name, _ := asString(args[0].rv)
	if f.included[name] > maxIncludes+1 {
		f.fail("rendering template has a nested reference name: %s", name)
	}
	t := f.set.lookup(name)
	if t == nil {
		f.fail("no template %q", name)
	}
	f.included[name]++
	data := value{concrete(args[1].rv), args[1].sh}
	out := &text{}
	c := f.cond
	if org := f.dynamic(args[0]); org != nil {
		c = join(c, args[0].sh.conds()).under(org, Condition)
	}
	f.execute(f.set, t, data, out, c)
	f.included[name]--
	return value{reflect.ValueOf(string(out.buf)), out.taint()}
}

// tpl executes a string as a template that sees all others. The origin of its literal text is that of the string.
func tpl(f *frame, args []value) value {
	body, _ := asString(args[0].rv)
	data := value{concrete(args[1].rv), args[1].sh}
	if !strings.Contains(body, "{{") {
		return withoutNoValue(body, args[0].sh)
	}
	src := &source{segments: args[0].sh.of(len(body))}
	if args[0].sh.cond != nil {
		segments := make([]segment, len(src.segments))
		for i, g := range src.segments {
			g.cond = join(g.cond, args[0].sh.cond)
			segments[i] = g
		}
		src.segments = segments
	}
	inner := &set{up: f.set, named: map[string]*tmpl{}}
	own, err := inner.add(rootName, body, src)
	if err != nil {
		f.fail("cannot parse template %q: %w", body, err)
	}
	out := &text{}
	f.execute(inner, own, data, out, join(f.cond, args[0].sh.conds()))
	return withoutNoValue(string(out.buf), out.taint())
}

// rootName is Helm's name for the root of all templates.
const rootName = "gotpl"

// withoutNoValue removes what text/template prints for missing values, as Helm does in tpl and in files.
func withoutNoValue(s string, sh taint) value {
	if !strings.Contains(s, noValue) {
		return value{reflect.ValueOf(s), sh}
	}
	out := &text{}
	out.rewrite(s, sh, nothing.FindAllStringIndex(s, -1), func([]int) (string, taint) { return "", taint{} })
	rest := out.taint()
	rest.cond = sh.cond
	if rest.segments == nil {
		rest.org = sh.mix()
	}
	return value{reflect.ValueOf(string(out.buf)), rest}
}

var nothing = regexp.MustCompile(noValue)
