package trace

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// str returns the string that the call returned; false if it returned something else.
func (c *call) str() (string, bool) {
	v := concrete(c.out)
	if v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), true
}

// strArg returns an argument if it is a string.
func (c *call) strArg(i int) (string, bool) {
	if i >= len(c.args) {
		return "", false
	}
	v := concrete(c.args[i].rv)
	if v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), true
}

// subject returns the last argument as a string: what most functions of strings work on.
func (c *call) subject() (string, taint) {
	s, _ := c.strArg(len(c.args) - 1)
	return s, c.args[len(c.args)-1].sh
}

// others returns the conditions and origins of all arguments but the last: what a length or a prefix came from.
func (c *call) others(sh taint) taint {
	for _, a := range c.args[:len(c.args)-1] {
		if org := c.dynamic(a); org != nil {
			sh.cond = join(sh.cond, a.sh.conds()).under(org, false)
		}
	}
	return sh
}

// same is the origin of a result that is spelled like the only argument.
func (c *call) same() taint {
	a := c.args[len(c.args)-1]
	if _, ok := c.strArg(len(c.args) - 1); ok {
		return a.sh
	}
	return taint{org: c.origin(a), cond: a.sh.conds()}
}

// second passes on the last argument as it is.
func (c *call) second() taint { return c.args[len(c.args)-1].sh }

// part is the origin of a result that lies in the last argument at an offset.
func (c *call) part(at int) taint {
	s, sh := c.subject()
	out, ok := c.str()
	if !ok || at < 0 || at+len(out) > len(s) || s[at:at+len(out)] != out {
		return c.mixed()
	}
	return c.others(sh.sub(len(s), at, at+len(out)))
}

func (c *call) prefixOf() taint { return c.part(0) }

func (c *call) suffixOf() taint {
	s, _ := c.subject()
	out, _ := c.str()
	return c.part(len(s) - len(out))
}

func (c *call) within() taint {
	s, _ := c.subject()
	if c.name == "trim" {
		return c.part(len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)))
	}
	set, _ := c.strArg(0)
	return c.part(len(s) - len(strings.TrimLeft(s, set)))
}

func (c *call) truncated() taint {
	s, _ := c.subject()
	out, _ := c.str()
	at := 0
	if n := concrete(c.args[0].rv); n.CanInt() {
		switch {
		case c.name == "substr":
			at = max(0, int(n.Int()))
		case n.Int() < 0:
			at = len(s) - len(out)
		}
	}
	return c.part(at)
}

// sameLength is the origin of a result that differs in letters' cases.
func (c *call) sameLength() taint {
	s, sh := c.subject()
	if out, ok := c.str(); !ok || len(out) != len(s) {
		return c.mixed()
	}
	return sh
}

// whole appends a computed string that stands for a value.
func (c *call) whole(t *text, s string, v value) {
	t.plain(s, c.origin(v), v.sh.conds())
}

// literal appends what is printed of a value: a string's own bytes, or one piece.
func (c *call) literal(t *text, s string, v value) {
	if rv := concrete(v.rv); rv.Kind() == reflect.String && rv.String() == s {
		t.add(s, v.sh, nil)
		return
	}
	t.buf = append(t.buf, s...)
	if len(s) > 0 {
		t.piece(segment{n: int32(len(s)), org: c.origin(v), cond: v.sh.conds()})
	}
}

// enclosed appends a quoted string: its own bytes between quotes if nothing in it is escaped.
func (c *call) enclosed(t *text, s string, v value) {
	rv := concrete(v.rv)
	if len(s) >= 2 {
		in := s[1 : len(s)-1]
		if rv.Kind() != reflect.String || rv.String() == in {
			q := c.origin(v)
			t.plain(s[:1], q, v.sh.cond)
			c.literal(t, in, v)
			t.plain(s[len(s)-1:], q, v.sh.cond)
			return
		}
	}
	c.whole(t, s, v)
}

// finish returns the taint of a text if it spells the result.
func (c *call) finish(t *text) taint {
	out, ok := c.str()
	if !ok || out != string(t.buf) {
		return c.mixed()
	}
	sh := t.taint()
	if sh.segments == nil {
		m := c.mixed()
		return taint{org: m.org, cond: m.cond}
	}
	return sh
}

func (c *call) quoted() taint {
	t := &text{}
	for _, a := range c.args {
		rv := concrete(a.rv)
		if !rv.IsValid() {
			continue
		}
		if len(t.buf) > 0 {
			t.plain(" ", nil, nil)
		}
		if c.name == "squote" {
			c.enclosed(t, "'"+fmt.Sprint(rv.Interface())+"'", a)
		} else {
			c.enclosed(t, strconv.Quote(fmt.Sprint(rv.Interface())), a)
		}
	}
	return c.finish(t)
}

// indented follows indent and nindent: each line gets blanks in front.
func (c *call) indented() taint {
	s, sh := c.subject()
	n := concrete(c.args[0].rv)
	if !n.CanInt() || n.Int() < 0 {
		return c.mixed()
	}
	pad := strings.Repeat(" ", int(n.Int()))
	t := &text{}
	if c.name == "nindent" {
		t.plain("\n", nil, nil)
	}
	pieces := cutter{segments: sh.of(len(s))}
	for {
		i := strings.IndexByte(s, '\n') + 1
		line := s
		if i > 0 {
			line = s[:i]
		}
		t.plain(pad, nil, nil)
		t.buf = append(t.buf, line...)
		pieces.next(t, len(line))
		if i == 0 {
			break
		}
		s = s[i:]
	}
	pieces.next(t, 1)
	out := c.finish(t)
	out.cond = join(out.cond, sh.cond)
	return out
}

func (c *call) replaced() taint {
	s, sh := c.subject()
	old, ok1 := c.strArg(0)
	with, ok2 := c.strArg(1)
	if !ok1 || !ok2 || old == "" {
		return c.mixed()
	}
	t := &text{}
	pieces, dropped := cutter{segments: sh.of(len(s))}, &text{}
	for {
		i := strings.Index(s, old)
		if i < 0 {
			break
		}
		t.buf = append(t.buf, s[:i]...)
		pieces.next(t, i)
		pieces.next(dropped, len(old))
		t.add(with, c.args[1].sh, nil)
		s = s[i+len(old):]
	}
	t.buf = append(t.buf, s...)
	pieces.next(t, len(s))
	out := c.finish(t)
	out.cond = join(out.cond, sh.cond)
	return out
}

// formatted follows printf, one directive after the other.
func (c *call) formatted() taint {
	format, ok := c.strArg(0)
	if !ok {
		return c.mixed()
	}
	t := &text{}
	pieces := cutter{segments: c.args[0].sh.of(len(format))}
	dropped := &text{}
	used := 1
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			i = len(format)
		}
		t.buf = append(t.buf, format[:i]...)
		pieces.next(t, i)
		if format = format[i:]; format == "" {
			break
		}
		j := 1 + len(format[1:]) - len(strings.TrimLeft(format[1:], "+-# 0123456789."))
		if j >= len(format) || strings.ContainsRune("*[", rune(format[j])) {
			return c.mixed()
		}
		verb := format[:j+1]
		pieces.next(dropped, j+1)
		format = format[j+1:]
		switch {
		case verb == "%%":
			t.plain("%", c.args[0].sh.mix(), nil)
			continue
		case used >= len(c.args):
			return c.mixed()
		}
		a := c.args[used]
		used++
		var x any
		if rv := concrete(a.rv); rv.IsValid() {
			x = rv.Interface()
		}
		s := fmt.Sprintf(verb, x)
		if verb == "%q" {
			c.enclosed(t, s, a)
		} else {
			c.literal(t, s, a)
		}
	}
	out := c.finish(t)
	out.cond = join(out.cond, c.args[0].sh.cond)
	return out
}

func (c *call) printed() taint {
	t := &text{}
	for i, a := range c.args {
		rv := concrete(a.rv)
		if i > 0 && rv.Kind() != reflect.String && concrete(c.args[i-1].rv).Kind() != reflect.String {
			t.plain(" ", nil, nil)
		}
		var x any
		if rv.IsValid() {
			x = rv.Interface()
		}
		c.literal(t, fmt.Sprint(x), a)
	}
	return c.finish(t)
}

// catted follows cat: the arguments that are not nil with blanks between, trimmed.
func (c *call) catted() taint {
	t := &text{}
	first := true
	for _, a := range c.args {
		rv := concrete(a.rv)
		if !rv.IsValid() {
			continue
		}
		if !first {
			t.plain(" ", nil, nil)
		}
		first = false
		c.literal(t, fmt.Sprint(rv.Interface()), a)
	}
	return c.finish(t)
}

// expanded follows regexReplaceAll: what no match took stays as it is.
func (c *call) expanded() taint {
	pattern, ok1 := c.strArg(0)
	s, ok2 := c.strArg(1)
	with, ok3 := c.strArg(2)
	re, err := regexp.Compile(pattern)
	if !ok1 || !ok2 || !ok3 || err != nil {
		return c.mixed()
	}
	t, dropped := &text{}, &text{}
	pieces := cutter{segments: c.args[1].sh.of(len(s))}
	at := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		t.buf = append(t.buf, s[at:m[0]]...)
		pieces.next(t, m[0]-at)
		pieces.next(dropped, m[1]-m[0])
		if strings.Contains(c.name, "Literal") {
			t.add(with, c.args[2].sh, nil)
		} else {
			made := re.ExpandString(nil, with, s, m)
			var mix mixer
			mix.add(c.args[2].sh.mix())
			mix.add(c.args[1].sh.sub(len(s), m[0], m[1]).mix())
			t.plain(string(made), mix.node(), c.args[1].sh.conds())
		}
		at = m[1]
	}
	t.buf = append(t.buf, s[at:]...)
	pieces.next(t, len(s)-at)
	out := c.finish(t)
	out.cond = join(out.cond, join(c.args[1].sh.cond, c.args[2].sh.cond))
	return out
}
