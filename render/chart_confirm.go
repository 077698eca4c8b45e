package render

import (
	"cmp"
	"errors"
	"fmt"
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
	if one, ok := c.jointly(s.manifest.Template)[strings.Join(path, "\x00")]; ok && one.prints(s, c.ordinal(s)) {
		return true
	}
	for _, value := range []any{"lintel", true, false, float64(7)} {
		again := find(c.tried(s, trace.Candidate{Path: path}, value), s)
		if again != nil && (again.missing != "" || again.value.Value != s.value.Value) {
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
func find(t *trial.Changes, s spot) *spot {
	object := t.Now[trial.Name(s.object)]
	if object == nil {
		return nil
	}
	again := &spot{value: object}
	again.follow(s.pointer, nil)
	return again
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
	var list []Field
	collect(object, "", true, &list)
	for _, f := range list {
		if f.Scalar() {
			out[f.Pointer] = f.Node.Value
		}
	}
	return out
}

// joint is one of several values that are set at the same time, each to a unique word. The template reads the value
// where its word appears in the output.
type joint struct {
	word    string
	objects []*yaml.Node // of the template, in the order of its output
}

// maxJoint is how often a template is rendered to try its values together. If a group fails, its halves are tried.
const maxJoint = 24

// jointly sets many empty values of a template at once and returns which of them it prints: a large chart has a
// thousand. Values below a common key are in one group, so that a value that turns off part of the template affects
// only its group.
func (c *chartPlaces) jointly(template string) map[string]joint {
	known, ok := c.joint[template]
	if ok {
		return known
	}
	known = map[string]joint{}
	if c.joint == nil {
		c.joint = map[string]map[string]joint{}
	}
	c.joint[template] = known
	paths := c.trace.Fallbacks(template)
	if len(paths) < 2 || !c.trial.Isolated(c.background(), template) {
		return known
	}
	slices.SortFunc(paths, func(a, b []string) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	queue := grouped(paths)
	for n := 0; n < maxJoint && len(queue) > 0; n++ {
		some := queue[0]
		queue = queue[1:]
		edit := trial.Edit{Template: template, AnyValues: true}
		for i, path := range some { // longer paths come last and replace shorter ones
			edit.Set = append(edit.Set, trial.Value{Path: path, Value: word(i)})
		}
		out, err := c.trial.Try(c.background(), edit)
		if errors.Is(err, trial.ErrBudget) {
			break
		}
		if err != nil {
			if len(some) > 1 {
				queue = append(queue, some[:len(some)/2], some[len(some)/2:])
			}
			continue
		}
		objects := c.trial.InOrder(out, template)
		for i, path := range some {
			known[strings.Join(path, "\x00")] = joint{word(i), objects}
		}
	}
	return known
}

// grouped groups paths by the first key that not all of them share.
func grouped(paths [][]string) (groups [][][]string) {
	common := 0
	for common < len(paths[0])-1 && !slices.ContainsFunc(paths, func(p []string) bool {
		return len(p) <= common+1 || p[common] != paths[0][common]
	}) {
		common++
	}
	index := map[string]int{}
	for _, p := range paths {
		i, ok := index[p[common]]
		if !ok {
			i = len(groups)
			index[p[common]] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

func word(i int) string { return fmt.Sprintf("lintel-%d-lintel", i) }

// prints reports whether a field of the object at an index contains the value's word.
func (j joint) prints(s spot, index int) bool {
	if index < 0 || index >= len(j.objects) || doc.Text(j.objects[index], "kind") != doc.Text(s.object, "kind") {
		return false
	}
	again := spot{value: j.objects[index]}
	again.follow(s.pointer, nil)
	return again.missing == "" && strings.Contains(again.value.Value, j.word)
}

// ordinal returns the index of an object in the output of its template.
func (c *chartPlaces) ordinal(s spot) int {
	template := s.manifest.Template
	names, ok := c.order[template]
	if !ok {
		for _, object := range c.trial.InOrder(c.output, template) {
			names = append(names, trial.Name(object))
		}
		if c.order == nil {
			c.order = map[string][]string{}
		}
		c.order[template] = names
	}
	return slices.Index(names, trial.Name(s.object))
}
