package gitops

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/template"
)

// merge lets later generators override values of the first, matched by the merge keys
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Merge/).
func (e *expander) merge(g *field, needs *need, depth int) ([]set, error) {
	children := g.elements("generators")
	keys := plainTexts(g.get("mergeKeys"))
	if len(children) < 2 || len(keys) == 0 {
		return nil, errors.New("a merge needs two generators or more, and mergeKeys")
	}
	var base, open []set // open: those of the first generator that are not known
	for i, child := range children {
		sets, err := e.generate(child, nil, needs, depth+1)
		if err != nil {
			return nil, err
		}
		index, other, err := byKeys(sets, keys)
		if err != nil {
			return nil, located(child, err)
		}
		if i == 0 {
			base = sets
			if last := len(sets) - 1; last >= 0 && (last == 0 || sets[last].others) && !sets[last].matches(keys) {
				base, open = sets[:last:last], sets[last:]
			}
			continue
		}
		if len(open) > 0 {
			known := map[string]bool{} // the merge keys of the declared clusters
			for _, b := range base {
				known[keyOf(b, keys)] = true
			}
			open = e.perhaps(open, slices.DeleteFunc(slices.Clone(sets), func(s set) bool { return known[keyOf(s, keys)] }), keys)
		}
		for k := range base {
			override, ok := index[keyOf(base[k], keys)]
			if ok && base[k].matches(keys) {
				base[k].values = e.override(base[k].values, sets[override].values)
				base[k].at = overridden(base[k].at, sets[override].at)
			}
			base[k].needs, base[k].guess = cmp.Or(base[k].needs, other), base[k].guess || other != nil
		}
	}
	return append(base, open...), nil
}

// perhaps merges sets into the unknown sets of a first generator. base[0] has the values that these have in common.
// Each override may match one of them, so it gives a set that is a guess, and is dropped where its folder does not
// exist. base[0] remains, as there may be sets without an override.
func (e *expander) perhaps(base, sets []set, keys []string) []set {
	base[0].guess, base[0].rest = true, true
	at := map[string]int{}
	for i, b := range slices.Backward(base[1:]) {
		at[keyOf(b, keys)] = i + 1
	}
	for _, s := range sets {
		i := at[keyOf(s, keys)]
		one := set{values: e.override(base[i].values, s.values), needs: base[0].needs, guess: true, key: keyOf(s, keys),
			at: overridden(base[i].at, s.at)}
		if i == 0 {
			if key := keyOf(one, keys); at[key] == 0 {
				at[key] = len(base)
			}
			base = append(base, one)
		} else {
			base[i] = one
		}
	}
	return base
}

// override returns the values of a set with those of an override.
func (e *expander) override(values, by map[string]any) map[string]any {
	if e.templates.goTemplate {
		return deepMerge(values, by)
	}
	out := maps.Clone(values)
	maps.Copy(out, by)
	return out
}

// keyOf returns the JSON of the merge keys, by which Argo CD compares sets. A missing value equals null.
func keyOf(s set, keys []string) string {
	var list []any
	for _, k := range keys {
		list = append(list, s.values[k])
	}
	data, err := json.Marshal(list)
	if err != nil { // a number that JSON does not have
		return fmt.Sprint(list)
	}
	return string(data)
}

// matches reports whether the values of the merge keys are known.
func (s set) matches(keys []string) bool {
	return s.needs == nil || !slices.ContainsFunc(keys, func(k string) bool { return !has(s.values, k) })
}

func byKeys(sets []set, keys []string) (index map[string]int, needs *need, err error) {
	index = map[string]int{}
	for i, s := range sets {
		if s.needs != nil {
			needs = s.needs
			continue
		}
		key := keyOf(s, keys)
		if _, ok := index[key]; ok {
			return nil, nil, errors.New("two of its parameter sets have the same merge keys")
		}
		index[key] = i
	}
	return index, needs, nil
}

// deepMerge returns a with the values of b. Maps in both are merged. An empty value in b does not replace one in a.
func deepMerge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		filled, _ := template.IsTrue(v)
		old, isMap := out[k].(map[string]any)
		more, both := v.(map[string]any)
		switch {
		case isMap && both:
			out[k] = deepMerge(old, more)
		case out[k] == nil || filled:
			out[k] = v
		}
	}
	return out
}
