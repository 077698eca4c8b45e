package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/trial"
)

// maxTries is how often a chart is rendered again to find out which value prints a field that is not there, and
// maxCandidates how many values are looked at for that.
const (
	maxTries      = 40
	maxCandidates = 16
)

// probes are the values that a candidate is set to, one after the other, until one prints the field. They have
// different types because templates expect one.
var probes = []any{"lintel", map[string]any{"lintel": "lintel"}, []any{"lintel"}, true, float64(7)}

// proven is a candidate that prints the field, with what it was set to.
type proven struct {
	trace.Candidate
	value any
	harms string // another field that it changes or removes; empty: there is none
}

// best returns the value to set so that a missing field is printed. Every candidate that prints it is confirmed by
// rendering. The one that changes the fewest other fields wins, then the one nearest to values that are already set. It
// returns nil if none prints the field. all reports whether every candidate was tried.
func (c *chartPlaces) best(s spot, list []trace.Candidate) (best *proven, all bool) {
	all = len(list) <= maxCandidates
	list = list[:min(len(list), maxCandidates)]
	tries := 0
	for i, probe := range probes {
		var good []proven
		for _, one := range list {
			value := probe
			if one.Switch {
				if value = i == 0; i > 1 {
					continue
				}
			}
			if tries++; tries > maxTries {
				all = false
				break
			}
			t := c.tried(s, one, value)
			all = all && t.Known
			if again := find(t, s); again != nil && again.missing == "" {
				good = append(good, proven{Candidate: one, value: value})
			}
		}
		if len(good) > 0 {
			return c.gentlest(s, good), all
		}
	}
	return nil, all
}

// gentlest returns the candidate that changes the fewest other fields.
func (c *chartPlaces) gentlest(s spot, good []proven) *proven {
	harm := map[string]int{}
	name := func(one proven) string { return strings.Join(one.Path, "\x00") }
	for i, one := range good {
		t := c.tried(s, one.Candidate, one.value)
		if len(good) > 1 {
			t = c.trial.Changes(c.background(), setting(one.Candidate, one.value))
		}
		if harm[name(one)], good[i].harms = harmOf(t, s); t.Failed {
			harm[name(one)] = failWeight
		}
	}
	near := func(one proven) int {
		_, depth := c.around(one.Path)
		return depth
	}
	slices.SortStableFunc(good, func(a, b proven) int {
		return cmp.Or(cmp.Compare(harm[name(a)], harm[name(b)]), -cmp.Compare(near(a), near(b)))
	})
	return &good[0]
}

// changes reports whether setting a value changes a field, by rendering.
func (c *chartPlaces) changes(s spot, path []string) bool {
	return c.becomes(s, path, func(again *spot) bool { return again.missing != "" || again.value.Value != s.value.Value })
}

// prints reports whether a value that is set gives a field another value, and does not only take it away.
func (c *chartPlaces) prints(s spot, path []string) bool {
	return c.becomes(s, path, func(again *spot) bool { return again.missing == s.missing && again.value.Value != s.value.Value })
}

func (c *chartPlaces) becomes(s spot, path []string, is func(*spot) bool) bool {
	for _, value := range []any{"lintel", true, false, float64(7)} {
		t := c.tried(s, trace.Candidate{Path: path}, value)
		again := in(cmp.Or(t.Now[trial.Name(s.object)], renamed(t, s.object)), s)
		if again != nil && is(again) {
			return true
		}
	}
	return false
}

// setting returns the edit that sets a candidate and the values that it needs.
func setting(one trace.Candidate, value any) (e trial.Edit) {
	for _, need := range one.Needs {
		e.Set = append(e.Set, trial.Value{Path: need, Value: true})
	}
	e.Set, e.AnyValues = append(e.Set, trial.Value{Path: one.Path, Value: value}), true
	return e
}

// tried returns what setting a candidate changes in the template of a field.
func (c *chartPlaces) tried(s spot, one trace.Candidate, value any) *trial.Changes {
	return c.trial.ChangesIn(c.background(), s.manifest.Template, setting(one, value))
}

// find returns a field after the changes, nil where it is unchanged or its object is gone.
func find(t *trial.Changes, s spot) *spot { return in(t.Now[trial.Name(s.object)], s) }

// in returns a field in an object that stands for its own.
func in(object *yaml.Node, s spot) *spot {
	if object == nil {
		return nil
	}
	again := &spot{value: object}
	again.follow(s.pointer, nil)
	return again
}

// renamed returns an object that the changes give another name or namespace: the added one of its kind, if there is only one
// such, or only one with its name.
func renamed(t *trial.Changes, object *yaml.Node) *yaml.Node {
	name := func(object *yaml.Node) string { return doc.Text(object, "metadata", "name") }
	var all, same []*yaml.Node
	for key, added := range t.Now {
		if t.Was[key] == nil && doc.Text(added, "kind") == doc.Text(object, "kind") {
			if all = append(all, added); name(added) == name(object) {
				same = append(same, added)
			}
		}
	}
	switch {
	case t.Was[trial.Name(object)] == nil:
		return nil
	case len(same) == 1:
		return same[0]
	case len(all) == 1:
		return all[0]
	}
	return nil
}

// lossWeight is the weight of a field that changes or disappears; one that is added weighs 1.
const lossWeight = 10

// failWeight is the weight of a tried value with which another template of the chart fails.
const failWeight = 10_000

// harmOf returns the total weight of changes, and a field of the object that they change or remove. Annotations, like
// checksums, are no harm.
func harmOf(t *trial.Changes, s spot) (count int, field string) {
	for name, object := range t.Now {
		before, after := leavesOf(t.Was[name]), leavesOf(object)
		for at := range after {
			if _, ok := before[at]; !ok {
				count++
			}
		}
		for _, at := range slices.Sorted(maps.Keys(before)) {
			if now, ok := after[at]; ok && now == before[at] {
				continue
			}
			count += lossWeight
			if name == trial.Name(s.object) && field == "" && !strings.Contains(at, "/metadata/annotations/") {
				field = at
			}
		}
	}
	for name, object := range t.Was {
		if t.Now[name] == nil {
			count += lossWeight * len(leavesOf(object))
		}
	}
	return count, field
}

// leavesOf returns the scalars of an object by their pointers.
func leavesOf(object *yaml.Node) map[string]string {
	out := map[string]string{}
	if object == nil {
		return out // a value may add an object
	}
	var list []Field
	collect(object, "", true, &list)
	for _, f := range list {
		if f.Scalar() {
			out[f.Pointer] = f.Node.Value
		}
	}
	return out
}
