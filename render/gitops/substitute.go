package gitops

import (
	"errors"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
)

// Flux' post-build substitution is a part of the shell's parameter expansion
// (https://github.com/fluxcd/pkg/tree/main/envsubst#supported-functions). Flux' own library reads each ${} and works it
// out. The walk over what it reads is ours: it notes which variables count, leaves what only the cluster knows as it is
// written, and bounds each step before it is taken.

var (
	errSubstitution = errors.New("a ${} is not written as Flux reads it")
	errLongText     = unknown("a substitution makes a text that is longer than the limit allows")
	errNested       = unknown("substitutions are nested too deeply")
)

const (
	maxNested = 32      // substitutions in defaults of substitutions
	maxRead   = 1 << 23 // bytes of one text that are looked at to find where its substitutions end
	maxMatch  = 1 << 27 // bytes that one text's patterns are compared with
)

// expansion is one run over one text.
type expansion struct {
	text      string
	variables map[string]Value
	partial   bool // a variable that is not among them may be set in the cluster: its ${} stays as it is written
	limit     int
	made      int // bytes, over all nested texts; likewise the next two
	read      int
	matched   int

	used, unset, unread []string // names of variables; unset: without a default
}

// run returns the text with its ${} replaced. "$$" is a "$" that starts nothing.
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
			value, known, err := e.value(substitution, 0)
			if err != nil {
				return "", err
			}
			if !known {
				value = source
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

// next reads the substitution that a text begins with, and returns how it is written, too: up to the first brace that
// makes it whole.
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

// readCost is what reading a text takes: Flux' parser copies all of it for each escape.
func readCost(text string) int {
	return len(text) * (1 + strings.Count(text, "$$") + strings.Count(text, `\`))
}

// look returns the value of a variable. An unset one is the empty text.
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

// value returns what a substitution or a text in one stands for, and whether that is known.
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
	if isDefault(f.Name) && value != "" { // what the default names does not matter
		e.used, e.unset, e.unread = e.used[:used], e.unset[:unset], e.unread[:unread]
	}
	if known && !set && !isDefault(f.Name) {
		e.unset = append(e.unset, f.Param)
	}
	// A default counts only where the variable is empty: whether it is, the cluster knows.
	known = known && (argsKnown || isDefault(f.Name) && value != "")
	result, err := e.apply(f.Name, value, args)
	return result, known, err
}

func isDefault(operator string) bool {
	return slices.Contains([]string{"=", ":=", ":-", ":?", ":+"}, operator)
}

// apply lets Flux' library work out one operator, once its result and the way there are known to be short.
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
		if recover() != nil { // an offset and a length that together are not a number
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

// expression writes an operator with variables in place of its value and its arguments, of which there are two at most.
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
