package trace

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// toYAML finds the tokens of what toYaml printed in the value that it printed.
func toYAML(c *call) taint {
	s, ok := asString(c.out)
	if !ok {
		return c.mixed()
	}
	v := c.args[len(c.args)-1]
	sh := c.yamlShade(s, v)
	sh.cond = join(sh.cond, v.sh.conds())
	return sh
}

// yamlShade returns the taint of a value's block style YAML; that of the whole if it cannot be followed.
func (f *frame) yamlShade(s string, v value) taint {
	p := &scan{frame: f, s: s}
	p.block(v, 0, -1, 0)
	if p.bad || p.pos != len(s) {
		return taint{org: f.origin(v), cond: v.sh.conds(), derived: true}
	}
	if p.out.segments == nil {
		return taint{org: f.origin(v), cond: v.sh.conds()}
	}
	return p.out.taint()
}

// scan follows an encoder's output beside the value that was encoded.
type scan struct {
	*frame
	s   string
	pos int
	out text
	bad bool
}

// punct takes bytes that are structure.
func (p *scan) punct(n int) {
	if n > 0 {
		p.out.piece(segment{n: int32(n), off: -1})
		p.pos += n
	}
}

// token takes a scalar's token of n bytes. Where the scalar's own bytes stand in it, they keep their places.
func (p *scan) token(n int, v value) {
	tok := p.s[p.pos : p.pos+n]
	rv := concrete(v.rv)
	org, k := v.sh.mix(), v.sh.conds()
	if rv.Kind() == reflect.String && rv.Len() > 0 {
		if i := strings.Index(tok, rv.String()); i >= 0 && i <= 1 && len(tok)-i-rv.Len() <= 1 {
			if i > 0 {
				p.out.piece(segment{n: int32(i), off: -1, org: org, cond: k})
			}
			p.out.addSegs(v.sh.of(rv.Len()), v.sh.cond)
			if rest := n - i - rv.Len(); rest > 0 {
				p.out.piece(segment{n: int32(rest), off: -1, org: org, cond: k})
			}
			p.pos += n
			return
		}
		p.out.piece(segment{n: int32(n), off: -1, org: org, cond: k})
	} else {
		p.out.piece(segment{n: int32(n), org: org, cond: k})
	}
	p.pos += n
}

func (p *scan) rest() string { return p.s[p.pos:] }

// indent counts the blanks at the position, which is the beginning of a line.
func (p *scan) indent() int {
	n := 0
	for p.pos+n < len(p.s) && p.s[p.pos+n] == ' ' {
		n++
	}
	return n
}

const maxNesting = 500

// block takes a node that begins at the position, which is at a column; parent is the column of what it stands in.
func (p *scan) block(v value, col, parent, depth int) {
	rv := concrete(v.rv)
	if depth > maxNesting {
		p.bad = true
	}
	if p.bad {
		return
	}
	p.step()
	switch {
	case rv.Kind() == reflect.Map && rv.Len() > 0 && !strings.HasPrefix(p.rest(), "{"):
		p.mapping(v, col, depth)
	case rv.Kind() == reflect.Slice && rv.Len() > 0 && rv.Type().Elem().Kind() != reflect.Uint8:
		p.sequence(v, col, depth)
	case rv.Kind() == reflect.Struct || rv.Kind() == reflect.Pointer:
		p.bad = true
	default:
		p.scalar(v, parent)
	}
}

func (p *scan) mapping(v value, col, depth int) {
	for first := true; ; first = false {
		if !first {
			if p.pos >= len(p.s) || p.indent() != col || strings.HasPrefix(p.s[p.pos+col:], "- ") {
				p.feed(&p.out, v)
				return
			}
			p.punct(col)
		}
		n, key := p.key()
		if n == 0 {
			p.bad = true
			return
		}
		held := p.at(v, key)
		p.token(n, value{reflect.ValueOf(key), p.entry(v, key).key})
		if !held.rv.IsValid() {
			p.bad = true
			return
		}
		p.punct(1)
		if p.value(held, col, depth); p.bad {
			return
		}
	}
}

// value takes what stands behind a key's colon.
func (p *scan) value(v value, col, depth int) {
	if strings.HasPrefix(p.rest(), "\n") {
		p.punct(1)
		n := p.indent()
		p.punct(n)
		p.block(v, n, col, depth+1)
		return
	}
	if strings.HasPrefix(p.rest(), " ") {
		p.punct(1)
	}
	p.scalar(v, col)
}

func (p *scan) sequence(v value, col, depth int) {
	rv := concrete(v.rv)
	for i := range rv.Len() {
		if i > 0 {
			if p.indent() != col {
				p.bad = true
				return
			}
			p.punct(col)
		}
		if !strings.HasPrefix(p.rest(), "-") {
			p.bad = true
			return
		}
		e := p.index(v, i)
		if !strings.HasPrefix(p.rest(), "- ") {
			p.punct(1)
			p.scalar(e, col)
			continue
		}
		p.punct(2)
		p.block(e, col+2, col, depth+1)
		if p.bad {
			return
		}
	}
}

// key returns the length of the key's token at the position, and the key.
func (p *scan) key() (int, string) {
	s := p.rest()
	if s == "" {
		return 0, ""
	}
	if s[0] == '"' || s[0] == '\'' {
		n := doc.QuotedLength(s)
		if n == 0 || n >= len(s) || s[n] != ':' {
			return 0, ""
		}
		var key string
		if yaml.Unmarshal([]byte(s[:n]), &key) != nil {
			return 0, ""
		}
		return n, key
	}
	if s[0] == '?' {
		return 0, ""
	}
	for i := range len(s) {
		if s[i] == '\n' {
			return 0, ""
		}
		if s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return i, s[:i]
		}
	}
	return 0, ""
}

// scalar takes a scalar and the line break behind it; lines that are indented more than parent belong to it.
func (p *scan) scalar(v value, parent int) {
	s := p.rest()
	end := 0
	for {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			end = len(s)
			break
		}
		line := s[end+i+1:]
		n := len(line) - len(strings.TrimLeft(line, " "))
		if n < len(line) && line[n] != '\n' && n <= parent {
			end += i
			break
		}
		end += i + 1
		if line == "" {
			break
		}
	}
	if s = s[:end]; strings.HasPrefix(s, "|") && concrete(v.rv).Kind() == reflect.String {
		p.literalBlock(s, v, parent+2)
	} else {
		p.token(len(s), v)
	}
	if strings.HasPrefix(p.rest(), "\n") {
		p.punct(1)
	}
}

// literalBlock takes a block scalar, whose lines are the string's lines with blanks in front.
func (p *scan) literalBlock(s string, v value, indent int) {
	if indent < 2 {
		indent = 2
	}
	str := concrete(v.rv).String()
	head := strings.IndexByte(s, '\n') + 1
	var t text
	org, k := v.sh.mix(), v.sh.conds()
	t.piece(segment{n: int32(head), off: -1, org: org, cond: k})
	pieces := cutter{segments: v.sh.of(len(str))}
	for body := s[head:]; body != ""; {
		i := strings.IndexByte(body, '\n')
		line := body
		if i >= 0 {
			line = body[:i+1]
		}
		body = body[len(line):]
		n := 0
		for n < indent && n < len(line) && line[n] == ' ' {
			n++
		}
		if n > 0 {
			t.piece(segment{n: int32(n), off: -1, org: org, cond: k})
		}
		line = line[n:]
		if strings.HasPrefix(str, line) {
			pieces.next(len(line), t.piece)
			str = str[len(line):]
			continue
		}
		p.token(len(s), v)
		return
	}
	p.out.addSegs(t.segments, v.sh.cond)
	p.pos += len(s)
}
