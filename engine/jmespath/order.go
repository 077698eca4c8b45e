package jmespath

import (
	"slices"
	"strings"
)

// orderFunctions are the standard functions that compare elements of a list.
func orderFunctions() []function {
	values, by := []kind{kindStrings | kindNumbers}, []kind{kindArray, kindExpref}
	return []function{
		{name: "sort", params: values, run: sorted},
		{name: "sort_by", params: by, run: sorted},
		{name: "max", params: values, run: extreme(slices.MaxFunc)},
		{name: "min", params: values, run: extreme(slices.MinFunc)},
		{name: "max_by", params: by, run: extreme(slices.MaxFunc)},
		{name: "min_by", params: by, run: extreme(slices.MinFunc)},
		{name: "reverse", params: []kind{kindArray | kindString}, run: reverse},
	}
}

// keyed is an element with what it is ordered by.
type keyed struct{ item, key any }

// compareEntries orders by two strings or two numbers.
func compareEntries(a, b keyed) int {
	if s, ok := a.key.(string); ok {
		t, _ := b.key.(string)
		return strings.Compare(s, t)
	}
	x, _ := asNumber(a.key)
	y, _ := asNumber(b.key)
	return compareNumbers(x, y)
}

// keysOf evaluates the expression, if the function takes one, for every element; the keys must be all strings or all
// numbers.
func keysOf(c *call) ([]keyed, error) {
	list := c.list(0)
	if err := c.grow(32 * len(list)); err != nil {
		return nil, err
	}
	out := make([]keyed, len(list))
	for i, item := range list {
		key, err := item, error(nil)
		if len(c.args) > 1 {
			if len(list) == 1 { // no key is needed
				return []keyed{{item: item}}, nil
			}
			key, err = c.eval(c.ref(1), item)
		}
		if err != nil {
			return nil, err
		}
		if !isString(key) && !isNumber(key) || i > 0 && isString(key) != isString(out[0].key) {
			return nil, c.fail("the expression must give a string for each element, or a number for each")
		}
		out[i] = keyed{item, key}
	}
	return out, nil
}

func sorted(c *call) (any, error) {
	entries, err := keysOf(c)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, compareEntries)
	out := make([]any, len(entries))
	for i, e := range entries {
		out[i] = e.item
	}
	return out, nil
}

func extreme(of func([]keyed, func(a, b keyed) int) keyed) func(*call) (any, error) {
	return func(c *call) (any, error) {
		entries, err := keysOf(c)
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		return of(entries, compareEntries).item, nil
	}
}

func reverse(c *call) (any, error) {
	if s, ok := c.args[0].(string); ok {
		r := []rune(s)
		slices.Reverse(r)
		return c.made(string(r))
	}
	out := slices.Clone(c.list(0))
	slices.Reverse(out)
	return out, c.grow(16 * len(out))
}
