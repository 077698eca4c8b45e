package jmespath

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// standardFunctions are those of https://jmespath.org/specification.html#built-in-functions, except the
// ones that order (order.go) and sum, which Kyverno replaces (arithmetic.go).
func standardFunctions() []function {
	return []function{
		{name: "length", params: []kind{kindString | kindArray | kindObject}, run: length},
		{name: "starts_with", params: []kind{kindString, kindString}, run: ofTwo(strings.HasPrefix)},
		{name: "ends_with", params: []kind{kindString, kindString}, run: ofTwo(strings.HasSuffix)},
		{name: "contains", params: []kind{kindString | kindArray, kindAny}, run: contains},
		{name: "abs", params: []kind{kindNumber}, run: func(c *call) (any, error) {
			n := c.num(0)
			if n.whole && n.i != math.MinInt64 {
				return max(n.i, -n.i), nil
			}
			return math.Abs(n.float()), nil
		}},
		{name: "ceil", params: []kind{kindNumber},
			run: func(c *call) (any, error) { return rounded(c.num(0), math.Ceil), nil }},
		{name: "floor", params: []kind{kindNumber},
			run: func(c *call) (any, error) { return rounded(c.num(0), math.Floor), nil }},
		{name: "avg", params: []kind{kindNumbers}, run: average},
		{name: "keys", params: []kind{kindObject}, run: func(c *call) (any, error) {
			out := jsonpointer.List(sortedKeys(c.obj(0)))
			return out, c.grow(16 * len(out))
		}},
		{name: "values", params: []kind{kindObject}, run: func(c *call) (any, error) {
			out, _ := valuesOf(c.args[0])
			return out, c.grow(16 * len(out))
		}},
		{name: "map", params: []kind{kindExpref, kindArray}, run: mapEach},
		{name: "merge", params: []kind{kindObject}, variadic: true, run: merge},
		{name: "not_null", params: []kind{kindAny}, variadic: true, run: func(c *call) (any, error) {
			for _, v := range c.args {
				if v != nil {
					return v, nil
				}
			}
			return nil, nil
		}},
		{name: "join", params: []kind{kindString, kindStrings}, run: join},
		{name: "type", params: []kind{kindAny}, run: func(c *call) (any, error) { return typeName(c.args[0]), nil }},
		{name: "to_array", params: []kind{kindAny}, run: func(c *call) (any, error) {
			if list, ok := c.args[0].([]any); ok {
				return list, nil
			}
			return []any{c.args[0]}, nil
		}},
		{name: "to_string", params: []kind{kindAny}, run: toString},
		{name: "to_number", params: []kind{kindAny}, run: toNumber},
	}
}

func length(c *call) (any, error) {
	return int64(utf8.RuneCountInString(c.str(0)) + len(c.list(0)) + len(c.obj(0))), nil // it is one of them
}

func contains(c *call) (any, error) {
	if s, ok := c.args[0].(string); ok {
		part, ok := c.args[1].(string)
		return ok && strings.Contains(s, part), nil
	}
	for _, item := range c.list(0) {
		if same, err := c.equal(item, c.args[1]); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func rounded(n number, round func(float64) float64) any {
	if n.whole {
		return n.i
	}
	return wholeIfExact(round(n.f))
}

// average of no numbers is null (https://jmespath.org/specification.html#avg).
func average(c *call) (any, error) {
	list := c.list(0)
	if len(list) == 0 {
		return nil, nil
	}
	sum := 0.0
	for _, v := range list {
		n, _ := asNumber(v)
		sum += n.float()
	}
	return wholeIfExact(sum / float64(len(list))), nil
}

func mapEach(c *call) (any, error) {
	list := c.list(1)
	if err := c.grow(16 * len(list)); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, item := range list {
		var err error
		if out[i], err = c.evalSoft(c.ref(0), item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func merge(c *call) (any, error) {
	out := map[string]any{}
	for i := range c.args {
		o := c.obj(i)
		if err := c.grow(32 * len(o)); err != nil {
			return nil, err
		}
		maps.Copy(out, o)
	}
	return out, nil
}

func join(c *call) (any, error) {
	list := c.list(1)
	parts := make([]string, len(list))
	size := 0
	for i, v := range list {
		parts[i], _ = v.(string)
		size += len(parts[i]) + len(c.str(0))
	}
	if err := c.grow(size); err != nil {
		return nil, err
	}
	return strings.Join(parts, c.str(0)), nil
}

// toString leaves strings alone and writes anything else as JSON.
func toString(c *call) (any, error) {
	if s, ok := c.args[0].(string); ok {
		return s, nil
	}
	// The value is measured first: it may name one part many times.
	if err := c.measure(c.args[0], 0); err != nil {
		return nil, err
	}
	text, err := json.Marshal(c.args[0])
	if err != nil {
		return nil, c.fail("argument #1 cannot be written as JSON")
	}
	return c.made(string(text))
}

// toNumber gives null for what is not a number (https://jmespath.org/specification.html#to-number).
func toNumber(c *call) (any, error) {
	if n, ok := asNumber(c.args[0]); ok {
		return n.any(), nil
	}
	s, ok := c.args[0].(string)
	if !ok {
		return nil, nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, nil
	}
	return wholeIfExact(f), nil
}

// formatNumber writes a number without an exponent.
func formatNumber(n number) string {
	if n.whole {
		return strconv.FormatInt(n.i, 10)
	}
	return strconv.FormatFloat(n.f, 'f', -1, 64)
}
