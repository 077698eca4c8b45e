package condition

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/engine/variable"
)

// maxConditions is the most conditions a set may have.
const maxConditions = 10_000

// Compile compiles the conditions at pointer (RFC 6901) of document: null, a map of any and all, a list
// of such maps, or a flat list of conditions. The document is a JSON tree; variables in it are
// compiled, not resolved. The error is a *jsonpointer.Error: for unknown fields and operators, missing
// keys, values and operators, and variables that do not compile.
func Compile(document any, pointer string) (*Set, error) {
	raw, ok := jsonpointer.Lookup(document, pointer)
	if !ok {
		return nil, jsonpointer.Errorf(pointer, "there are no conditions")
	}
	c := &compiler{document: document}
	s := &Set{}
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
		err = jsonpointer.Errorf(pointer, "conditions are a map of any and all, or a list")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

const notCondition = "a condition is a map of key, operator and value"

type compiler struct {
	document any
	count    int
}

// list compiles a list of blocks, or the deprecated list of conditions. Each condition of the latter becomes a block of
// its own: they are evaluated in order, up to the first that is not met.
func (c *compiler) list(raw []any, at string) ([]block, error) {
	var blocks []block
	kinds := map[bool]bool{}
	for i, element := range raw {
		here := at + "/" + strconv.Itoa(i)
		m, ok := element.(map[string]any)
		if !ok {
			return nil, jsonpointer.Errorf(here, notCondition)
		}
		_, hasAny := m["any"]
		_, hasAll := m["all"]
		isBlock := hasAny || hasAll || len(m) == 0
		kinds[isBlock] = true
		if len(kinds) > 1 {
			return nil, jsonpointer.Errorf(here, "a list holds either conditions or maps of any and all, not both")
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
	for _, field := range slices.Sorted(maps.Keys(raw)) {
		here := at + "/" + jsonpointer.Escape(field)
		if field != "any" && field != "all" {
			return block{}, jsonpointer.Errorf(here, "unknown field %s: conditions belong under any and all",
				pattern.Quote(field))
		}
		if raw[field] == nil {
			continue
		}
		list, ok := raw[field].([]any)
		if !ok {
			return block{}, jsonpointer.Errorf(here, "%s must be a list of conditions", pattern.Quote(field))
		}
		conditions := make([]condition, 0, len(list))
		for i, element := range list {
			m, ok := element.(map[string]any)
			if !ok {
				return block{}, jsonpointer.Errorf(here+"/"+strconv.Itoa(i), notCondition)
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
		return condition{}, jsonpointer.Errorf(at, "there are more than %d conditions", maxConditions)
	}
	for _, field := range slices.Sorted(maps.Keys(raw)) {
		switch field {
		case "key", "operator", "value", "message":
		default:
			return condition{}, jsonpointer.Errorf(at+"/"+jsonpointer.Escape(field),
				"unknown field %s: a condition has key, operator, value and message", pattern.Quote(field))
		}
	}
	for _, field := range []string{"key", "operator", "value"} {
		if raw[field] == nil {
			return condition{}, jsonpointer.Errorf(at, "the condition has no %s", field)
		}
	}
	one := condition{at: at}
	one.source, _ = raw["key"].(string)
	name, ok := raw["operator"].(string)
	if !ok {
		return condition{}, jsonpointer.Errorf(at+"/operator", "the operator must be a string")
	}
	if one.operator, ok = operators[name]; !ok {
		return condition{}, jsonpointer.Errorf(at+"/operator", "unknown operator %s: use one of %s", pattern.Quote(name),
			operatorNames)
	}
	one.name, one.texts = name, name == "In" || name == "NotIn"
	var err error
	if one.key, err = variable.Parse(c.document, at+"/key"); err != nil {
		return condition{}, err
	}
	if one.value, err = variable.Parse(c.document, at+"/value"); err != nil {
		return condition{}, err
	}
	if value, ok := one.value.Constant(); ok {
		one.fixed = one.operator(value)
	}
	if raw["message"] != nil {
		if one.raw, ok = raw["message"].(string); !ok {
			return condition{}, jsonpointer.Errorf(at+"/message", "the message must be a string")
		}
		if one.message, err = variable.Parse(c.document, at+"/message"); err != nil {
			return condition{}, err
		}
	}
	return one, nil
}
