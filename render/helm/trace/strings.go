package trace

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// asString returns a value if it is a string.
func asString(v reflect.Value) (string, bool) {
	if v = concrete(v); v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), true
}

// subject returns the last argument as a string, which most functions of strings work on.
func (c *call) subject() (string, taint) {
	v := c.args[len(c.args)-1]
	s, _ := asString(v.rv)
	return s, v.sh
}

// finish returns the taint of a text, if the text is the result.
func (c *call) finish(t *text) taint {
	if out, ok := asString(c.out); !ok || out != string(t.buf) {
		return c.mixed()
	}
	sh := t.taint()
	if sh.segments == nil {
		m := c.mixed()
		return taint{org: m.org, cond: m.cond}
	}
	return sh
}

// passed handles functions that return the last argument.
func passed(c *call) taint { return c.args[len(c.args)-1].sh }

// within handles functions whose result is part of the last argument, ignoring case.
func within(c *call) taint {
	s, sh := c.subject()
	out, _ := asString(c.out)
	find := strings.Index
	if n := concrete(c.args[0].rv); strings.HasSuffix(c.name, "Prefix") || n.CanInt() && n.Int() < 0 {
		find = strings.LastIndex
	}
	at := find(strings.ToLower(s), strings.ToLower(out))
	if at < 0 || at+len(out) > len(s) || !strings.EqualFold(s[at:at+len(out)], out) {
		return c.mixed()
	}
	sh = sh.sub(len(s), at, at+len(out))
	for _, a := range c.args[:len(c.args)-1] { // the result also depends on a length or a prefix
		if org := c.dynamic(a); org != nil {
			sh.cond = join(sh.cond, a.sh.conds()).under(org, Condition)
		}
	}
	return sh
}

// spell appends the text that was made of a value. If it contains the value's own text, this keeps its places.
func (c *call) spell(t *text, s string, v value) {
	own := spelling(v)
	at := strings.Index(s, own)
	if at < 0 { // escaped
		t.plain(s, c.origin(v), v.sh.conds())
		return
	}
	t.plain(s[:at], c.origin(v), v.sh.conds())
	if _, is := asString(v.rv); is {
		t.add(own, v.sh, nil)
	} else if own != "" {
		t.buf = append(t.buf, own...)
		t.piece(segment{n: int32(len(own)), org: c.origin(v), cond: v.sh.conds()})
	}
	t.plain(s[at+len(own):], c.origin(v), v.sh.conds())
}

// spelling returns what fmt prints for a value.
func spelling(v value) string {
	if rv := concrete(v.rv); rv.IsValid() {
		return fmt.Sprint(rv.Interface())
	}
	return fmt.Sprint(nil)
}

// spelled finds the arguments in a result, one after the other. What is between them is the separator.
func spelled(c *call) taint {
	values, separator, listed := c.args, taint{}, (*cond)(nil)
	if l := c.args[len(c.args)-1]; c.name == "join" && concrete(l.rv).Kind() == reflect.Slice {
		values, separator, listed = nil, c.args[0].sh, l.sh.conds()
		for i := range concrete(l.rv).Len() {
			values = append(values, c.index(l, i))
		}
	}
	t := &text{}
	rest, _ := asString(c.out)
	for i, v := range values {
		s := spelling(v)
		switch c.name {
		case "quote":
			s = strconv.Quote(s)
		case "squote":
			s = "'" + s + "'"
		}
		at := strings.Index(rest, s)
		if at < 0 {
			continue // nil, which most functions leave out
		}
		if i > 0 {
			t.add(rest[:at], separator, nil)
		}
		c.spell(t, s, v)
		rest = rest[at+len(s):]
	}
	sh := c.finish(t)
	sh.cond = join(sh.cond, listed)
	return sh
}

// formatted handles printf, directive by directive.
func formatted(c *call) taint {
	format, _ := asString(c.args[0].rv)
	sh := c.args[0].sh
	t, pieces := &text{}, cutter{segments: sh.of(len(format))}
	used := 1
	for _, m := range directive.FindAllStringIndex(format, -1) {
		verb := format[m[0]:m[1]]
		pieces.keep(t, format[:m[0]][pieces.at:])
		pieces.drop(t, len(verb))
		switch {
		case verb == "%%":
			t.plain("%", sh.mix(), nil)
			continue
		case used >= len(c.args):
			return c.mixed()
		}
		var x any
		if rv := concrete(c.args[used].rv); rv.IsValid() {
			x = rv.Interface()
		}
		c.spell(t, fmt.Sprintf(verb, x), c.args[used])
		used++
	}
	pieces.keep(t, format[pieces.at:])
	out := c.finish(t)
	out.cond = join(out.cond, sh.cond)
	return out
}

var directive = regexp.MustCompile(`%[-+# 0-9.]*.`)

// padded handles indent and nindent, which put blanks before each line.
func padded(c *call) taint {
	s, sh := c.subject()
	pad := strings.Repeat(" ", max(0, int(concrete(c.args[0].rv).Int())))
	var lines [][]int
	for at, more := 0, true; more; {
		lines = append(lines, []int{at, at})
		n := strings.IndexByte(s[at:], '\n') + 1
		at, more = at+n, n > 0
	}
	t := &text{}
	if c.name == "nindent" {
		t.plain("\n", nil, nil)
	}
	t.rewrite(s, sh, lines, func([]int) (string, taint) { return pad, taint{derived: true} })
	out := c.finish(t)
	out.cond = join(out.cond, sh.cond)
	return out
}

// replaced handles replace and regexReplaceAll: text without a match keeps its places.
func replaced(c *call) taint {
	subject, with := c.args[1], c.args[2]
	pattern, _ := asString(c.args[0].rv)
	literal := strings.Contains(c.name, "Literal")
	if c.name == "replace" {
		pattern, subject, with, literal = regexp.QuoteMeta(pattern), c.args[2], c.args[1], true
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return c.mixed()
	}
	s, _ := asString(subject.rv)
	by, _ := asString(with.rv)
	t := &text{}
	t.rewrite(s, subject.sh, re.FindAllStringSubmatchIndex(s, -1), func(m []int) (string, taint) {
		if literal {
			return by, with.sh
		}
		var mix mixer
		mix.add(with.sh.mix())
		mix.add(subject.sh.sub(len(s), m[0], m[1]).mix())
		return string(re.ExpandString(nil, by, s, m)), taint{org: mix.node(), cond: subject.sh.conds(), derived: true}
	})
	out := c.finish(t)
	out.cond = join(out.cond, join(subject.sh.cond, with.sh.cond))
	return out
}
