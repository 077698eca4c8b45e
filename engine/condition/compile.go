package condition

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/variable"
)

// maxConditions is the most conditions a set may have.
const maxConditions = 10_000

// Compile compiles the conditions at pointer (RFC 6901) of document: null, a map of any and all, a list
// of such maps, or a flat list of conditions. The document is a JSON tree; variables in it are
// compiled, not resolved. The error is a *CompileError: for unknown fields and operators, missing keys,
// values and operators, and variables that do not compile.
func Compile(document any, pointer string) (*Set, error) {
	raw, ok := jsonpointer.Lookup(document, pointer)
	if !ok {
		return nil, &CompileError{Pointer: pointer, Message: "there are no conditions"}
	}
	c := &compiler{document: document}
	s := &Set{joint: ";"}
	var err error
	switch typed := raw.(type) {
	case nil:
		return s, nil
	case map[string]any:
		var b block
		b, err = c.block(typed, pointer)
		s.blocks = []block{b}
	case []any:
		s.blocks, err = c.list(typed, pointer)
	default:
		err = &CompileError{Pointer: pointer, Message: "conditions are a map of any and all, or a list"}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

type compiler struct {
	document any
	count    int
}

// list compiles a list of blocks, or the deprecated list of conditions. Members of that list become
// blocks of their own: they are evaluated in order, up to the first that is not met.
func (c *compiler) list(raw []any, at string) ([]block, error) {
	var blocks []block
	kinds := map[bool]bool{}
	for i, element := range raw {
		here := at + "/" + strconv.Itoa(i)
		m, ok := element.(map[string]any)
		if !ok {
			return nil, &CompileError{Pointer: here, Message: "a condition is a map of key, operator and value"}
		}
		_, hasAny := m["any"]
		_, hasAll := m["all"]
		isBlock := hasAny || hasAll || len(m) == 0
		kinds[isBlock] = true
		if len(kinds) > 1 {
			return nil, &CompileError{Pointer: here, Message: "a list holds either conditions or maps of any and all, not both"}
		}
		if isBlock {
			b, err := c.block(m, here)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, b)
			continue
		}
		one, err := c.condition(m, here)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block{all: []condition{one}})
	}
	return blocks, nil
}

func (c *compiler) block(raw map[string]any, at string) (block, error) {
	var b block
	for _, field := range sortedKeys(raw) {
		here := at + "/" + jsonpointer.Escape(field)
		if field != "any" && field != "all" {
			return block{}, &CompileError{Pointer: here, Message: "unknown field " + quote(field) +
				": conditions stand under any and all"}
		}
		if raw[field] == nil {
			continue
		}
		list, ok := raw[field].([]any)
		if !ok {
			return block{}, &CompileError{Pointer: here, Message: quote(field) + " must be a list of conditions"}
		}
		conditions := make([]condition, 0, len(list))
		for i, element := range list {
			m, ok := element.(map[string]any)
			if !ok {
				return block{}, &CompileError{Pointer: here + "/" + strconv.Itoa(i),
					Message: "a condition is a map of key, operator and value"}
			}
			one, err := c.condition(m, here+"/"+strconv.Itoa(i))
			if err != nil {
				return block{}, err
			}
			conditions = append(conditions, one)
		}
		if field == "any" {
			b.any, b.hasAny = conditions, true
		} else {
			b.all = conditions
		}
	}
	return b, nil
}

func (c *compiler) condition(raw map[string]any, at string) (condition, error) {
	if c.count++; c.count > maxConditions {
		return condition{}, &CompileError{Pointer: at, Message: fmt.Sprintf("there are more than %d conditions",
			maxConditions)}
	}
	for _, field := range sortedKeys(raw) {
		switch field {
		case "key", "operator", "value", "message":
		default:
			return condition{}, &CompileError{Pointer: at + "/" + jsonpointer.Escape(field),
				Message: "unknown field " + quote(field) + ": a condition has key, operator, value and message"}
		}
	}
	for _, field := range []string{"key", "operator", "value"} {
		if raw[field] == nil {
			return condition{}, &CompileError{Pointer: at, Message: "the condition has no " + field}
		}
	}
	one := condition{at: at}
	name, ok := raw["operator"].(string)
	if !ok {
		return condition{}, &CompileError{Pointer: at + "/operator", Message: "the operator must be a string"}
	}
	if one.operator, ok = operatorOf(name); !ok {
		return condition{}, &CompileError{Pointer: at + "/operator", Message: "unknown operator " + quote(name) +
			": use one of " + operatorNames}
	}
	var err error
	if one.key, err = c.tree(at + "/key"); err != nil {
		return condition{}, err
	}
	if one.value, err = c.tree(at + "/value"); err != nil {
		return condition{}, err
	}
	if value, ok := one.value.Constant(); ok {
		one.fixed = one.operator(value)
	}
	if raw["message"] != nil {
		if one.raw, ok = raw["message"].(string); !ok {
			return condition{}, &CompileError{Pointer: at + "/message", Message: "the message must be a string"}
		}
		if one.message, err = c.tree(at + "/message"); err != nil {
			return condition{}, err
		}
	}
	return one, nil
}

func (c *compiler) tree(pointer string) (*variable.Tree, error) {
	tree, err := variable.Parse(c.document, pointer)
	if err == nil {
		return tree, nil
	}
	var parse *variable.ParseError
	if errors.As(err, &parse) {
		return nil, &CompileError{Pointer: parse.Pointer, Message: parse.Message}
	}
	return nil, &CompileError{Pointer: pointer, Message: err.Error()}
}
