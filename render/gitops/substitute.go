package gitops

import (
	"errors"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
)

// Flux' post-build substitution implements part of the shell's parameter expansion
// (https://github.com/fluxcd/pkg/tree/main/envsubst#supported-functions). Flux' own library parses and evaluates each
// ${}. The loop over the parsed text is Lintel's: it records which variables are used, keeps a ${} whose value only the
// cluster knows, and limits each step in advance.

var (
	errSubstitution = errors.New("a ${} is not written as Flux reads it")
	errLongText     = unknown("a substitution makes a text that is longer than the limit allows")
	errNested       = unknown("substitutions are nested too deeply")
)

const (
	maxNested = 32      // of substitutions in defaults
	maxRead   = 1 << 23 // bytes of one text that are searched for the ends of substitutions
	maxMatch  = 1 << 27 // bytes that the patterns of one text are compared with
)

// expansion is the substitution in one text.
type expansion struct {
	text      string
	variables map[string]Value
	partial   bool // the cluster may set more variables: a ${} with an unknown one is kept
	limit     int
	made      int // bytes, for all nested texts; read and matched as well
	read      int
	matched   int

	used, unset, unread []string // names of variables; unset: without a default
	parts               []Part   // of the returned text
}

// run returns the text with its ${} replaced. "$$" becomes "$" and starts no substitution.
func (e *expansion) run() (string, error) {
	var b strings.Builder
	for rest := e.text; rest != ""; {
		before, _, _ := strings.Cut(rest, "$")
		b.WriteString(before)
		rest = rest[len(before):]
		switch {
		case strings.HasPrefix(rest, "${"):
			substitution, source, err := e.next(rest)
			if err != nil {
				return "", err
			}
			used := len(e.used)
			value, known, err := e.value(substitution, 0)
			if err != nil {
				return "", err
			}
			if !known {
				value = source
			} else if n := len(e.used); n > used { // the last one is that of a default, if the default is used
				e.parts = append(e.parts, Part{b.Len(), b.Len() + len(value), e.variables[e.used[n-1]].Where})
			}
			b.WriteString(value)
			rest = rest[len(source):]
		case rest != "":
			b.WriteByte('$')
			rest = strings.TrimPrefix(rest[1:], "$")
		}
		if b.Len() > e.limit {
			return "", errLongText
		}
	}
	return b.String(), nil
}

// next parses the substitution at the start of a text, and returns its source, too. It ends at the first brace with
// which it is valid.
func (e *expansion) next(text string) (parse.Node, string, error) {
	for end := 0; ; {
		brace := strings.IndexByte(text[end:], '}')
		if brace < 0 {
			return nil, "", errSubstitution
		}
		end += brace + 1
		source := text[:end]
		if strings.Count(source, "${") > 1000 {
			return nil, "", errNested
		}
		if e.read += readCost(source); e.read > maxRead {
			if readCost(text) < maxRead {
				if _, err := parse.Parse(text); err != nil {
					return nil, "", errSubstitution
				}
			}
			return nil, "", errLongText
		}
		if tree, err := parse.Parse(source); err == nil {
			return tree.Root, source, nil
		}
	}
}

// readCost is the cost of parsing a text: Flux' parser copies the whole text for each escape.
func readCost(text string) int {
	return len(text) * (1 + strings.Count(text, "$$") + strings.Count(text, `\`))
}

// look returns the value of a variable, empty if it is not set.
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

// value returns the value of a substitution, or of a text in one, and whether the value is known.
func (e *expansion) value(n parse.Node, depth int) (string, bool, error) {
	if text, ok := n.(*parse.TextNode); ok {
		return text.Value, true, nil
	}
	f, ok := n.(*parse.FuncNode)
	if !ok {
		return "", false, errSubstitution
	}
	if depth > maxNested {
		return "", false, errNested
	}
	value, set, known := e.look(f.Param)
	used, unset, unread := len(e.used), len(e.unset), len(e.unread)
	args, argsKnown := make([]string, len(f.Args)), true
	for i, arg := range f.Args {
		text, ok, err := e.value(arg, depth+1)
		if err != nil {
			return "", false, err
		}
		args[i], argsKnown = text, argsKnown && ok
	}
	if isDefault(f.Name) && value != "" { // the default is not used, so its variables do not count
		e.used, e.unset, e.unread = e.used[:used], e.unset[:unset], e.unread[:unread]
	}
	if known && !set && !isDefault(f.Name) {
		e.unset = append(e.unset, f.Param)
	}
	// A default only applies if the variable is empty, which only the cluster may know.
	known = known && (argsKnown || isDefault(f.Name) && value != "")
	result, err := e.apply(f.Name, value, args)
	return result, known, err
}

func isDefault(operator string) bool {
	return slices.Contains([]string{"=", ":=", ":-", ":?", ":+"}, operator)
}

// apply evaluates one operator with Flux' library, after it has checked that the result and the work are small.
func (e *expansion) apply(operator, value string, args []string) (result string, err error) {
	if isDefault(operator) {
		args = []string{strings.Join(args, "")}
	}
	size := len(value) + len(strings.Join(args, ""))
	if len(args) > 0 {
		switch operator {
		case "#", "##", "%", "%%":
			if n := len(value); n > 1<<16 || n*n > maxMatch/(len(args[0])+1) {
				return "", errLongText
			}
			e.matched += len(value) * len(value) * (len(args[0]) + 1)
		case "//":
			size += strings.Count(value, args[0]) * len(args[len(args)-1])
		}
	}
	if e.made += size; e.made > e.limit || e.matched > maxMatch {
		return "", errLongText
	}
	defer func() {
		if recover() != nil { // the sum of an offset and a length overflowed
			err = errSubstitution
		}
	}()
	given := map[string]string{"v": value}
	for i, arg := range args {
		given[argument(i)] = arg
	}
	return envsubst.Eval(expression(operator, len(args)), func(name string) (string, bool) { return given[name], true })
}

func argument(i int) string { return string(rune('a' + i)) }

// expression returns an operator with variables in place of its value and its arguments, of which there are at most
// two.
func expression(operator string, args int) string {
	if operator == "#" && args == 0 {
		return "${#v}"
	}
	text := "${v" + operator
	for i := range args {
		text += "${" + argument(i) + "}"
		if i+1 < args || strings.HasPrefix(operator, "/") && args == 1 {
			text += operator[:1]
		}
	}
	return text + "}"
}
