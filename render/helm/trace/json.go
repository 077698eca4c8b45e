package trace

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// toJSON finds the tokens of what toJson printed in the value that it printed.
func toJSON(c *call) taint {
	s, ok := asString(c.out)
	v := c.args[len(c.args)-1]
	if !ok {
		return c.mixed()
	}
	p := &scan{frame: c.frame, s: s}
	p.json(v, 0)
	if p.bad || p.pos != len(s) || p.out.segments == nil {
		return c.mixed()
	}
	sh := p.out.taint()
	sh.cond = v.sh.conds()
	return sh
}

func (p *scan) space() {
	s := p.rest()
	p.punct(len(s) - len(strings.TrimLeft(s, " \n\t\r")))
}

func (p *scan) json(v value, depth int) {
	p.space()
	if p.bad = p.bad || depth > maxNesting || p.rest() == ""; p.bad {
		return
	}
	p.step()
	rv := concrete(v.rv)
	switch s := p.rest(); {
	case s[0] == '{' && rv.Kind() == reflect.Map:
		p.items('}', func(int) {
			n := doc.QuotedLength(p.rest())
			if n < 2 {
				p.bad = true
				return
			}
			var key string
			if yaml.Unmarshal([]byte(p.rest()[:n]), &key) != nil {
				p.bad = true
				return
			}
			held := p.at(v, key)
			p.token(n, value{reflect.ValueOf(key), p.entry(v, key).key})
			p.space()
			p.punct(1)
			if p.bad = !held.rv.IsValid(); !p.bad {
				p.json(held, depth+1)
			}
		})
	case s[0] == '[' && rv.Kind() == reflect.Slice:
		p.items(']', func(i int) {
			if p.bad = i >= rv.Len(); !p.bad {
				p.json(p.index(v, i), depth+1)
			}
		})
	case s[0] == '"':
		if n := doc.QuotedLength(s); n > 0 {
			p.token(n, v)
		} else {
			p.bad = true
		}
	default:
		n := strings.IndexAny(s, ",]} \n")
		if n < 0 {
			n = len(s)
		}
		p.token(n, v)
	}
}

// items takes what stands between brackets, the opening one at the position.
func (p *scan) items(end byte, one func(i int)) {
	p.punct(1)
	for i := 0; !p.bad; i++ {
		p.space()
		s := p.rest()
		if s == "" {
			p.bad = true
			return
		}
		if s[0] == end {
			p.punct(1)
			return
		}
		if i > 0 {
			if s[0] != ',' {
				p.bad = true
				return
			}
			p.punct(1)
			p.space()
		}
		if p.rest() == "" || end == '}' && p.rest()[0] != '"' {
			p.bad = true
			return
		}
		one(i)
	}
}
