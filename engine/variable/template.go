package variable

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/jmespath"
)

// Limits of the substitution of one string.
const (
	maxRounds = 16      // how often values that hold variables are substituted again
	maxText   = 4 << 20 // bytes of a string after substitution
)

// variablePattern is a variable with no other inside it: two braces, text without braces except one level
// of {...} for JMESPath hashes, two braces; not after a backslash. Substituting what it finds and looking
// again resolves nested variables from the inside out.
var variablePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})`) })

// escapedPattern matches a variable after a backslash, which is not resolved.
var escapedPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(\{\{(?:\{[^{}]*\}|[^{}])*\}\})`) })

// template is a string with variables.
type template struct {
	pieces []piece
	path   string // of the string in its tree, for messages
}

// piece is text, or a variable where that is set.
type piece struct {
	text     string
	variable *expansion
}

// expansion is one {{ }}.
type expansion struct {
	shallow  bool
	body     *template            // set where other variables are inside
	text     string               // the expression, where body is nil
	plain    *jmespath.Expression // likewise
	deletion *jmespath.Expression // likewise, for DELETE requests
	target   *jmespath.Expression // of {{@}}: in a mutation of existing objects
}

// hole marks where a variable was found while the text around it is still searched. The input must not contain the zero
// byte, so a hole cannot be confused with text.
const hole = "\x00"

var errHole = errors.New("the text holds a zero byte")

// parseTemplate finds the variables of a string, nil if it has none. tokens is the path of the string in its tree,
// which {{@}} reads in the resource.
func parseTemplate(text, path string, tokens []string) (*template, error) {
	if !strings.Contains(text, "{{") {
		return nil, nil
	}
	if strings.Contains(text, hole) {
		return nil, errHole
	}
	p := &templateParser{path: path, tokens: tokens}
	for round := 0; ; round++ {
		found := variablePattern().FindAllStringSubmatchIndex(text, -1)
		if len(found) == 0 {
			break
		}
		if round == maxRounds {
			return nil, fmt.Errorf("variables are nested more than %d levels deep", maxRounds)
		}
		var b strings.Builder
		rest := 0
		for _, m := range found {
			x, err := p.expansion(text[m[2]:m[3]])
			if err != nil {
				return nil, err
			}
			p.found = append(p.found, x)
			b.WriteString(text[rest:m[2]])
			b.WriteString(hole + strconv.Itoa(len(p.found)-1) + hole)
			rest = m[3]
		}
		b.WriteString(text[rest:])
		text = b.String()
	}
	if len(p.found) == 0 {
		return nil, nil
	}
	return p.template(text), nil
}

type templateParser struct {
	path   string
	tokens []string
	found  []*expansion
}

// template splits a text at its holes.
func (p *templateParser) template(text string) *template {
	t := &template{path: p.path}
	for i, part := range strings.Split(text, hole) {
		if i%2 == 1 {
			n, _ := strconv.Atoi(part)
			t.pieces = append(t.pieces, piece{variable: p.found[n]})
		} else if part != "" {
			t.pieces = append(t.pieces, piece{text: part})
		}
	}
	return t
}

// expansion compiles the content of {{ }}.
func (p *templateParser) expansion(text string) (*expansion, error) {
	text = strings.TrimSpace(text[2 : len(text)-2])
	x := &expansion{}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		x.shallow, text = true, strings.TrimSpace(rest)
	}
	if strings.Contains(text, hole) {
		x.body = p.template(text)
		return x, nil
	}
	var err error
	if text == "@" {
		if x.target, err = jmespath.Compile(queryOf("target", p.tokens)); err != nil {
			return nil, err
		}
		text = queryOf("request.object", p.tokens)
	}
	x.text = text
	if x.plain, err = jmespath.Compile(text); err != nil {
		return nil, fmt.Errorf("{{ %s }}: %w", text, err)
	}
	x.deletion = x.plain
	if old := onDeletion(text); old != text {
		if x.deletion, err = jmespath.Compile(old); err != nil {
			return nil, fmt.Errorf("{{ %s }}: %w", old, err)
		}
	}
	return x, nil
}

// onDeletion returns how a variable is read in a DELETE request, whose object is in request.oldObject.
func onDeletion(text string) string {
	return strings.ReplaceAll(text, "request.object", "request.oldObject")
}

// queryOf writes a place as an expression.
func queryOf(prefix string, tokens []string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, t := range tokens {
		if i, err := strconv.Atoi(t); err == nil && i >= 0 {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		quoted, _ := json.Marshal(withoutAnchor(t)) // a string always has JSON
		b.WriteByte('.')
		b.Write(quoted)
	}
	return b.String()
}

// resolve substitutes the variables. A string that is one variable takes the value as it is; in a longer
// one strings stand for themselves and other values as JSON.
func (t *template) resolve(s *Scope, round int) (any, error) {
	if len(t.pieces) == 1 && t.pieces[0].variable != nil {
		x := t.pieces[0].variable
		v, err := x.value(s, t.path, round)
		if err != nil || x.shallow {
			return v, err
		}
		return again(s, v, t.path, round)
	}
	text, shallow, err := t.text(s, round)
	if err != nil {
		return nil, err
	}
	if !shallow {
		next, err := t.next(text, round)
		if err != nil {
			return nil, err
		}
		if next != nil {
			return next.resolve(s, round+1)
		}
	}
	return unescape(text), nil
}

// next is the template that the text of this one makes, nil where it holds no variables any more.
func (t *template) next(text string, round int) (*template, error) {
	if !strings.Contains(text, "{{") {
		return nil, nil
	}
	if round >= maxRounds {
		return nil, fmt.Errorf("variables at path %s are replaced by further variables more than %d times", t.path, maxRounds)
	}
	next, err := parseTemplate(text, t.path, nil)
	if err != nil {
		return nil, &ResolveError{Variable: t.source(), Path: t.path, Err: err}
	}
	return next, nil
}

// text substitutes once and concatenates.
func (t *template) text(s *Scope, round int) (text string, shallow bool, err error) {
	var b strings.Builder
	for _, p := range t.pieces {
		part := p.text
		if p.variable != nil {
			v, err := p.variable.value(s, t.path, round)
			if err != nil {
				return "", false, err
			}
			shallow = shallow || p.variable.shallow
			if part, err = textOf(v); err != nil {
				return "", false, &ResolveError{Variable: p.variable.text, Path: t.path, Err: err}
			}
		}
		if b.Len()+len(part) > maxText {
			return "", false, fmt.Errorf("the text at path %s is longer than %d bytes", t.path, maxText)
		}
		b.WriteString(part)
	}
	return b.String(), shallow, nil
}

// flat is the text of an expression that has variables inside: their content is substituted, too.
func (t *template) flat(s *Scope, round int) (string, error) {
	text, shallow, err := t.text(s, round)
	if err != nil || shallow {
		return text, err
	}
	next, err := t.next(text, round)
	if next == nil || err != nil {
		return text, err
	}
	return next.flat(s, round+1)
}

// source is the text of the template as far as it is known, for messages.
func (t *template) source() string {
	var b strings.Builder
	for _, p := range t.pieces {
		switch {
		case p.variable == nil:
			b.WriteString(p.text)
		case p.variable.body != nil:
			b.WriteString("{{ " + p.variable.body.source() + " }}")
		default:
			b.WriteString("{{ " + p.variable.text + " }}")
		}
	}
	return b.String()
}

// value evaluates the variable.
func (x *expansion) value(s *Scope, path string, round int) (any, error) {
	text, e, err := x.expression(s, path, round)
	if err != nil {
		return nil, err
	}
	v, err := s.Query(e)
	if err != nil {
		return nil, &ResolveError{Variable: text, Path: path, Err: err}
	}
	return v, nil
}

// expression is what the variable asks in this scope.
func (x *expansion) expression(s *Scope, path string, round int) (string, *jmespath.Expression, error) {
	switch {
	case x.body != nil:
		text, err := x.body.flat(s, round)
		if err != nil {
			return "", nil, err
		}
		if s.shared.deleting {
			text = onDeletion(text)
		}
		text = strings.TrimSpace(text)
		e, err := s.compile(text)
		if err != nil {
			return "", nil, &ResolveError{Variable: x.body.source(), Path: path, Err: err}
		}
		return text, e, nil
	case x.target != nil:
		if _, ok := s.Value("target"); ok {
			return x.target.String(), x.target, nil
		}
	}
	if s.shared.deleting {
		return x.deletion.String(), x.deletion, nil
	}
	return x.text, x.plain, nil
}

// reads collects the fields that the variables read in this scope.
func (t *template) reads(s *Scope, found map[string]bool) {
	for _, p := range t.pieces {
		if p.variable == nil {
			continue
		}
		var own []string
		if _, e, err := p.variable.expression(s, t.path, 0); err == nil { // the resolution tells errors
			own = s.Reads(e)
		}
		if p.variable.body != nil {
			p.variable.body.content(len(own) > 0).reads(s, found)
		}
		for _, pointer := range own {
			found[pointer] = true
		}
	}
}

// content is the text of an expression without the variables that only choose a field by its name: in
// images.containers."{{ element.name }}".tag it is the tag that is looked at. Without names it is all of it.
func (t *template) content(names bool) *template {
	if !names {
		return t
	}
	out := *t
	out.pieces = nil
	literal := false // within backticks
	before := ""
	for _, p := range t.pieces {
		if p.variable == nil {
			if strings.Count(p.text, "`")%2 == 1 {
				literal = !literal
			}
			before = p.text
		} else if !literal && (strings.HasSuffix(before, `."`) || strings.HasSuffix(before, ".")) {
			continue
		}
		out.pieces = append(out.pieces, p)
	}
	return &out
}

// textOf is a value inside a longer string.
func textOf(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "", errors.New("the value cannot be written as JSON")
	}
	return string(text), nil
}

// unescape removes the backslash before variables that stay text.
func unescape(text string) string {
	if !strings.Contains(text, `\{{`) {
		return text
	}
	return escapedPattern().ReplaceAllString(text, "$1")
}

// again substitutes the variables within an object or list that a variable gave. A string that a
// variable gave as the whole value is not looked at again, as in Kyverno.
func again(s *Scope, v any, path string, round int) (any, error) {
	if _, isText := v.(string); isText || !holdsVariable(v, 0) {
		return v, nil
	}
	if round >= maxRounds {
		return nil, fmt.Errorf("variables at path %s are replaced by further variables more than %d times", path, maxRounds)
	}
	n, err := (&parser{path: path, dynamic: true}).node(v, nil, 0)
	if err != nil {
		return nil, &ResolveError{Variable: "a value", Path: path, Err: err}
	}
	return n.resolve(s, round+1)
}

func holdsVariable(v any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "{{")
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return holdsVariable(item, depth+1) })
	case map[string]any:
		for k, item := range v {
			if strings.Contains(k, "{{") || holdsVariable(item, depth+1) {
				return true
			}
		}
	}
	return false
}
