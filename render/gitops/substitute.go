package gitops

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The language of Flux' post-build substitution: a part of the shell's parameter expansion
// (https://github.com/fluxcd/pkg/tree/main/envsubst#supported-functions).

var (
	errSubstitution = errors.New("a ${} is not written as Flux reads it")
	errLongText     = errors.New("a substitution makes a text that is longer than the limit allows")
)

const maxNested = 32 // substitutions in defaults of substitutions

// expansion is one run over one text.
type expansion struct {
	text      string
	at        int
	variables map[string]Value
	partial   bool // a variable that is not among them may be set in the cluster: its ${} stays as it is written
	limit     int
	spent     int // bytes made and compared so far, over all nested texts

	used, unset, unread []string // names of variables; unset: without a default
}

// look answers a variable. An unset one is the empty text.
func (e *expansion) look(name string) (value string, set, known bool) {
	v, ok := e.variables[name]
	switch {
	case ok:
		e.used = append(e.used, name)
	case e.partial:
		e.unread = append(e.unread, name)
	}
	return v.Text, ok, ok || !e.partial
}

// run answers the text with its ${} replaced. "$$" is a "$" that starts nothing.
func (e *expansion) run() (string, error) {
	var b strings.Builder
	text, limit := e.text, e.limit
	for e.at < len(text) {
		dollar := strings.IndexByte(text[e.at:], '$')
		if dollar < 0 {
			b.WriteString(text[e.at:])
			break
		}
		b.WriteString(text[e.at : e.at+dollar])
		e.at += dollar
		switch {
		case strings.HasPrefix(text[e.at:], "$$"):
			b.WriteByte('$')
			e.at += 2
		case strings.HasPrefix(text[e.at:], "${"):
			start := e.at
			value, known, err := e.expand(0)
			if err != nil {
				return "", err
			}
			if !known {
				value = text[start:e.at]
			}
			b.WriteString(value)
		default:
			b.WriteByte('$')
			e.at++
		}
		if b.Len() > limit {
			return "", errLongText
		}
	}
	return b.String(), nil
}

func (e *expansion) peek() byte {
	if e.at < len(e.text) {
		return e.text[e.at]
	}
	return 0
}

// closing takes the "}" of a substitution.
func (e *expansion) closing() error {
	if e.peek() != '}' {
		return errSubstitution
	}
	e.at++
	return nil
}

func (e *expansion) name() (string, error) {
	start := e.at
	for e.at < len(e.text) {
		r, size := utf8.DecodeRuneInString(e.text[e.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			break
		}
		e.at += size
	}
	if start == e.at {
		return "", errSubstitution
	}
	return e.text[start:e.at], nil
}

// expand reads one ${...} and answers what it stands for.
func (e *expansion) expand(depth int) (string, bool, error) {
	if depth > maxNested {
		return "", false, errors.New("substitutions are nested too deeply")
	}
	e.at += len("${")
	if e.peek() == '#' {
		e.at++
		name, err := e.name()
		if err == nil {
			err = e.closing()
		}
		value, set, known := e.look(name)
		if known && !set {
			e.unset = append(e.unset, name)
		}
		return strconv.Itoa(len(value)), known, err
	}
	name, err := e.name()
	if err != nil {
		return "", false, err
	}
	value, set, known := e.look(name)
	used, unset, unread := len(e.used), len(e.unset), len(e.unread)
	operator, args, argsKnown, err := e.operation(depth)
	if err != nil {
		return "", false, err
	}
	if isDefault(operator) && value != "" { // what the default names does not matter
		e.used, e.unset, e.unread = e.used[:used], e.unset[:unset], e.unread[:unread]
	}
	if known && !set && !isDefault(operator) {
		e.unset = append(e.unset, name)
	}
	// A default counts only where the variable is empty: whether it is, the cluster knows.
	known = known && (argsKnown || isDefault(operator) && value != "")
	result, err := e.apply(operator, value, args)
	if e.spent += len(result); e.spent > e.limit {
		return "", false, errLongText
	}
	return result, known, err
}

func isDefault(operator string) bool {
	switch operator {
	case "=", ":=", ":-", ":?", ":+":
		return true
	}
	return false
}

// operation reads what stands between a name and its closing brace.
func (e *expansion) operation(depth int) (operator string, args []string, known bool, err error) {
	known = true
	take := func(n int) { operator = e.text[e.at : e.at+n]; e.at += n }
	argument := func(until string, escapes bool) bool {
		if err == nil {
			var text string
			var ok bool
			text, ok, err = e.argument(until, escapes, depth)
			args, known = append(args, text), known && ok
		}
		return err == nil
	}
	rest := e.text[e.at:]
	switch c := e.peek(); {
	case c == '}':
		e.at++
		return "", nil, true, nil
	case c == '=':
		take(1)
	case c == ':' && len(rest) > 1 && strings.IndexByte("=-?+", rest[1]) >= 0:
		take(2)
	case c == ':':
		take(1)
		if argument(":}", false) && e.peek() == ':' {
			for e.peek() == ':' {
				e.at++
			}
			argument("}", false)
		}
		if err == nil {
			err = e.closing()
		}
		return operator, args, known, err
	case c == ',' || c == '^':
		take(1 + both(rest, ",^"))
		return operator, nil, true, e.closing()
	case c == '#':
		take(1 + both(rest, "#"))
	case c == '%':
		take(1 + both(rest, "%"))
	case c == '/':
		take(1 + both(rest, "/#%"))
		if argument("/", true) {
			if e.peek() != '/' {
				return "", nil, false, errSubstitution
			}
			for e.peek() == '/' {
				e.at++
			}
			if e.peek() != '}' {
				argument("}", true)
			}
		}
		if err == nil {
			err = e.closing()
		}
		return operator, args, known, err
	default:
		return "", nil, false, errSubstitution
	}
	if isDefault(operator) {
		for err == nil && e.peek() != '}' {
			argument("}", false)
		}
	} else {
		argument("}", false)
	}
	if err == nil {
		err = e.closing()
	}
	return operator, args, known, err
}

// both is 1 where the second byte continues an operator.
func both(rest, more string) int {
	if len(rest) > 1 && strings.IndexByte(more, rest[1]) >= 0 {
		return 1
	}
	return 0
}

// argument reads one text up to a byte that ends it or to a nested substitution, or one nested substitution. As in
// Flux the first byte of a text may not end it. Escapes are those that only replacements know.
func (e *expansion) argument(until string, escapes bool, depth int) (string, bool, error) {
	if strings.HasPrefix(e.text[e.at:], "${") {
		return e.expand(depth + 1)
	}
	var b strings.Builder
	for e.at < len(e.text) {
		rest := e.text[e.at:]
		if escapes && (strings.HasPrefix(rest, "$$") || strings.HasPrefix(rest, `\/`) || strings.HasPrefix(rest, `\\`)) {
			b.WriteByte(rest[1])
			e.at += 2
			continue
		}
		if strings.HasPrefix(rest, "${") || strings.IndexByte(until, rest[0]) >= 0 {
			break
		}
		b.WriteByte(rest[0])
		e.at++
	}
	if b.Len() == 0 {
		return "", false, errSubstitution
	}
	return b.String(), true, nil
}

const maxMatched = 4096 // bytes of a value that a pattern is matched against

func (e *expansion) apply(operator, value string, args []string) (string, error) {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch operator {
	case "=", ":=", ":-", ":?", ":+":
		if value == "" {
			return strings.Join(args, ""), nil
		}
	case ",,":
		return strings.ToLower(value), nil
	case "^^":
		return strings.ToUpper(value), nil
	case ",", "^":
		r, size := utf8.DecodeRuneInString(value)
		if size == 0 {
			return value, nil
		}
		if operator == "," {
			return string(unicode.ToLower(r)) + value[size:], nil
		}
		return string(unicode.ToUpper(r)) + value[size:], nil
	case ":":
		return substring(value, args), nil
	case "#", "##", "%", "%%":
		e.spent += len(value) * len(value) / 64
		if len(value) > maxMatched || len(arg(0)) > maxMatched || e.spent > e.limit {
			return "", errLongText
		}
		return strip(operator, value, arg(0)), nil
	case "/", "//":
		n := 1
		if operator == "//" {
			n = -1
		}
		if len(value)+strings.Count(value, arg(0))*len(arg(1)) > e.limit {
			return "", errLongText
		}
		return strings.Replace(value, arg(0), arg(1), n), nil
	case "/#":
		if rest, ok := strings.CutPrefix(value, arg(0)); ok && len(args) == 2 {
			return arg(1) + rest, nil
		}
	case "/%":
		if rest, ok := strings.CutSuffix(value, arg(0)); ok && len(args) == 2 {
			return rest + arg(1), nil
		}
	}
	return value, nil
}

// substring is ${var:from} and ${var:from:length}, counted in bytes. What is not a number leaves the value.
func substring(value string, args []string) string {
	from, err := strconv.Atoi(args[0])
	if err != nil {
		return value
	}
	if from < 0 {
		from = max(0, len(value)+from)
	}
	if len(args) == 1 {
		return value[min(from, len(value)):]
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return value
	}
	from = min(from, len(value))
	return value[from : from+max(0, min(n, len(value)-from))]
}

// strip removes what a shell pattern matches at the start or the end of a value, the shortest or the longest.
func strip(operator, value, pattern string) string {
	re, err := dialect{}.compile(pattern)
	if err != nil {
		return value
	}
	longest, end := len(operator) == 2, operator[0] == '%'
	for i := range len(value) {
		n := i + 1
		if longest {
			n = len(value) - i
		}
		cut := n
		if end {
			cut = len(value) - n
		}
		switch {
		case cut < len(value) && !utf8.RuneStart(value[cut]):
		case end && re.MatchString(value[cut:]):
			return value[:cut]
		case !end && re.MatchString(value[:cut]):
			return value[cut:]
		}
	}
	return value
}
